"""A running `apns-sim serve`, and calls to its control API."""

import contextlib
import json
import os
import subprocess
import time
import urllib.error
import urllib.request

from measure import Failure
from processes import Program


class Simulator(Program):
    """`apns-sim serve`; used in a `with`."""

    def __init__(self, bin, folder):
        self.program = os.path.join(bin, "apns-sim")
        self.authority, self.file = os.path.join(folder, "sim.pem"), os.path.join(folder, "sim.env")

    def start(self):
        return subprocess.Popen(
            [self.program, "serve", "--ca-file", self.authority, "--env-file", self.file],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def come_up(self):
        deadline = time.monotonic() + 30
        while not os.path.exists(self.file):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise Failure("apns-sim did not start")
            time.sleep(0.05)
        with open(self.file) as file:
            self.settings = dict(line.strip().split("=", 1) for line in file if "=" in line)
        self.url = self.settings["APNS_SIM_CONTROL_URL"]

    @property
    def daemon_settings(self):
        """The variables with which a daemon sends to it."""
        return {name: value for name, value in self.settings.items() if name.startswith("TALLY_")}

    def __exit__(self, *failure):
        super().__exit__(*failure)
        # Another may be started in this folder, and is up when the file is there.
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.file)

    def call(self, method, path, body, timeout=120):
        """A call of its control API."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise Failure(f"the simulator, {method} {path}: {error.code} {error.read()[:300]}") from None
        except OSError as error:
            raise Failure(f"the simulator, {method} {path}: {error}") from None
        return json.loads(text) if text else None

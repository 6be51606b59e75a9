"""A running `tallyd serve`, and calls to its API."""

import base64
import json
import os
import subprocess
import urllib.error
import urllib.request

from measure import Failure

ADMIN = "bench-administrator"
TICKS = os.sysconf("SC_CLK_TCK")


class Daemon:
    """Used in a `with`; ends gracefully."""

    def __init__(self, bin, database):
        self.program = os.path.join(bin, "tallyd")
        self.environment = {
            **os.environ,
            "TALLY_DATABASE_URL": database,
            "TALLY_MASTER_KEY": base64.b64encode(bytes(32)).decode(),
            "TALLY_BOOTSTRAP_KEY": ADMIN,
            "TALLY_HTTP_PORT": "0",
            "TALLY_LOG_LEVEL": "warning",
        }

    def __enter__(self):
        subprocess.run([self.program, "migrate"], env=self.environment, check=True, capture_output=True)
        self.process = subprocess.Popen(
            [self.program, "serve"], env=self.environment, stdout=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            raise Failure("tallyd did not start")
        self.url = line.removeprefix("listening on ").strip()
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()

    def call(self, method, path, body, key=ADMIN):
        request = urllib.request.Request(
            self.url + path,
            data=json.dumps(body).encode(),
            method=method,
            headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise Failure(f"{method} {path}: {error.code} {error.read()[:500]}") from None

    @property
    def cpu(self):
        """The CPU seconds of all its threads so far."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13])) / TICKS

    @property
    def resident_mib(self):
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

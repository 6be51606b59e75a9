"""A running `tallyd serve`, and calls to its API."""

import base64
import json
import os
import subprocess
import urllib.error
import urllib.request

from measure import Failure
from processes import Process

ADMIN = "bench-administrator"


class Daemon:
    """Used in a `with`; ends gracefully. `settings` are variables of its environment."""

    # What seals its keys: the same for all that ever use a database of the bench.
    master_key = base64.b64encode(bytes(32)).decode()

    def __init__(self, bin, database, **settings):
        self.program = os.path.join(bin, "tallyd")
        self.environment = {
            **os.environ,
            "TALLY_DATABASE_URL": database,
            "TALLY_MASTER_KEY": self.master_key,
            "TALLY_BOOTSTRAP_KEY": ADMIN,
            "TALLY_HTTP_PORT": "0",
            "TALLY_LOG_LEVEL": "warning",
            **settings,
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
        return Process(self.process.pid).cpu

    @property
    def resident_mib(self):
        return Process(self.process.pid).resident / 2**20

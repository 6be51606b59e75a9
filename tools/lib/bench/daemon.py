"""A running `tallyd serve`, and calls to its API."""

import base64
import json
import os
import subprocess
import urllib.error
import urllib.request

from credentials import signing_key
from measure import Failure, said_by
from processes import Process, Program

ADMIN = "bench-administrator"


class Daemon(Program):
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

    def migrate(self):
        said_by([self.program, "migrate"], env=self.environment)

    def start(self):
        self.migrate()
        return subprocess.Popen([self.program, "serve"], env=self.environment, stdout=subprocess.PIPE, text=True)

    def come_up(self):
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            raise Failure("tallyd did not start")
        self.url = line.removeprefix("listening on ").strip()

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
        except OSError as error:
            raise Failure(f"{method} {path}: {error}") from None

    def text(self, path):
        """What a page says that is no JSON."""
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {ADMIN}"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.read().decode()
        except OSError as error:
            raise Failure(f"GET {path}: {error}") from None

    def register(self, app, activity_type, definition, scopes):
        """An app with a key made for it, and one activity type; the secret of an API key with these scopes."""
        production = {"key_id": "FGHIJ67890", "private_key": signing_key()}
        self.call("PUT", f"/v1/apps/{app}", {"team_id": "ABCDE12345", "environments": {"production": production}})
        self.call("PUT", f"/v1/apps/{app}/types/{activity_type}", definition)
        return self.call("POST", "/v1/api-keys", {"name": "bench", "scopes": scopes})["secret"]

    @property
    def cpu(self):
        """The CPU seconds of all its threads so far."""
        return Process(self.process.pid).cpu

    @property
    def resident_mib(self):
        return Process(self.process.pid).resident / 2**20

    @property
    def peak_mib(self):
        return Process(self.process.pid).peak / 2**20

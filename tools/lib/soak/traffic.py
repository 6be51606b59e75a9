"""What backends, phones and readers do during a soak: generations of activities with phones, from start to end."""

import http.client
import itertools
import json
import os
import random
import threading
import time
import urllib.parse
import urllib.request

from measure import Failure

APP, TYPE = "com.example.matchday", "GameAttributes"
PATH = f"/v1/apps/{APP}"
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
PHONES = 10
# Every fourth activity has a channel.
CHANNELS = 4


class Latencies:
    """Seconds that calls took, and what failed; taken out interval by interval."""

    def __init__(self):
        self.lock = threading.Lock()
        self.seconds, self.failures, self.calls = [], 0, 0

    def add(self, seconds):
        with self.lock:
            self.seconds.append(seconds)
            self.calls += 1

    def failed(self):
        with self.lock:
            self.failures += 1

    def take(self):
        with self.lock:
            taken, self.seconds = self.seconds, []
        return sorted(taken)


class Backend:
    """Calls one of the daemons in turn; a call that fails is made again, with the same key, until it has an answer."""

    def __init__(self, urls, key, latencies):
        self.addresses = [urllib.parse.urlsplit(url).netloc for url in urls]
        self.key, self.latencies = key, latencies
        self.local, self.turn = threading.local(), 0

    def call(self, method, path, body=None, idempotency=None):
        self.turn += 1
        address = self.addresses[self.turn % len(self.addresses)]
        head = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        if idempotency:
            head["Idempotency-Key"] = idempotency
        deadline = time.monotonic() + 60
        while True:
            began = time.monotonic()
            try:
                connections = self.local.__dict__.setdefault("connections", {})
                connection = connections.setdefault(address, http.client.HTTPConnection(address, timeout=30))
                connection.request(method, path, json.dumps(body).encode() if body is not None else None, head)
                answer = connection.getresponse()
                text = answer.read()
            except (OSError, http.client.HTTPException) as error:
                self.latencies.failed()
                connections.pop(address, None)
                if time.monotonic() > deadline:
                    raise Failure(f"{method} {path}: {error}") from None
                time.sleep(0.5)
                continue
            if answer.status in (429, 503) and time.monotonic() < deadline:
                self.latencies.failed()
                time.sleep(float(answer.headers.get("Retry-After") or 1))
                continue
            if not 200 <= answer.status < 300:
                raise Failure(f"{method} {path}: {answer.status} {text[:300]!r}")
            self.latencies.add(time.monotonic() - began)
            return json.loads(text) if text else None


def register(daemon):
    """The app with its type; the secret of a key that may post, register and read."""

    def sample(name):
        with open(os.path.join(ROOT, "docs", "samples", name)) as file:
            return json.load(file)

    definition = {
        "attributes_schema": sample("game-attributes.schema.json"),
        "content_state_schema": sample("game-content-state.schema.json"),
        # Channels are given back soon, so that their deletion is seen.
        "policy": sample("game-policy.json") | {"channel_grace_seconds": 30, "start_retry_seconds": 2},
    }
    return daemon.register(APP, TYPE, definition, ["publish", "register", "read"])


def attributes(name):
    return {"homeTeam": "Argentina", "awayTeam": "France", "competition": "Soak", "activityId": name}


def content(number):
    return {"homeScore": number % 10, "awayScore": number // 10 % 10, "minute": number, "period": "firstHalf"}


class Generation:
    """Some activities with their phones, from the first registration to the deletion of the devices."""

    def __init__(self, number, count, backend, simulator, seed):
        self.number, self.backend, self.simulator = number, backend, simulator
        self.random = random.Random(seed)
        self.names = [f"soak-{number}-{n}" for n in range(count)]
        self.phones = [f"g{number}-{n}-{phone}" for n in range(count) for phone in range(1, PHONES + 1)]
        self.posts, self.numbers = [], itertools.count(1)

    def note(self, name, kind, answer, began, state):
        post = {"activity_id": name, "revision": answer["revision"], "posted_at_ms": round(began * 1000), "kind": kind}
        if state is not None:
            post["content_state"] = state
        if answer.get("timestamp"):
            post["timestamp"] = answer["timestamp"]
        self.posts.append(post)

    def begin(self):
        for n, name in enumerate(self.names):
            request = {
                "count": PHONES, "prefix": f"g{self.number}-{n}-", "bundle_id": APP, "environment": "production",
                "types": [TYPE], "follows": [name], "frequent_pushes": True, "id_attribute": "activityId",
            }  # fmt: skip
            self.simulator.call("POST", "/phones", request)
        self.wait_for_reports()
        for n, name in enumerate(self.names):
            state, began = content(0), time.time()
            body = {
                "type": TYPE, "attributes": attributes(name), "content_state": state,
                "delivery": "channel" if n % CHANNELS == 0 else "tokens",
                "audience": {"devices": [f"g{self.number}-{n}-{phone}" for phone in range(1, PHONES + 1)]},
                "alert": {"title": "Kick-off", "body": "Argentina against France"},
            }  # fmt: skip
            self.note(name, "start", self.backend.call("PUT", f"{PATH}/activities/{name}", body), began, state)

    def wait_for_reports(self, limit=60):
        deadline = time.monotonic() + limit
        while self.simulator.call("GET", "/summary", b"")["reports"]["pending"] and time.monotonic() < deadline:
            time.sleep(0.2)

    def update(self):
        """One change: most by themselves, some in a batch of all, a few for later."""
        number = next(self.numbers)
        chance = self.random.random()
        if chance < 0.02:
            return self.batch(number)
        name = self.random.choice(self.names)
        state, began = content(number), time.time()
        body = {"content_state": state}
        if chance < 0.05:
            at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began + self.random.randint(2, 10)))
            return self.backend.call("POST", f"{PATH}/activities/{name}/updates", body | {"at": at})
        if chance < 0.10:
            body |= {"urgency": "notable", "alert": {"title": "Goal!", "body": f"Minute {number}"}}
        key = f"{name}-{number}"
        answer = self.backend.call("POST", f"{PATH}/activities/{name}/updates", body, idempotency=key)
        self.note(name, "update", answer, began, state)

    def batch(self, number):
        began = time.time()
        states = {name: content(number + n) for n, name in enumerate(self.names)}
        operations = [
            {"op": "update", "id": name, "idempotency_key": f"{name}-batch-{number}", "body": {"content_state": state}}
            for name, state in states.items()
        ]
        for name, result in zip(states, self.backend.call("POST", f"{PATH}/batch", {"operations": operations})["results"]):
            if result["status"] == 202:
                self.note(name, "update", result["body"], began, states[name])

    def disturb(self):
        """Something happens to a few phones: tokens change, they are away for a while, people open the app."""
        phones = self.random.sample(self.phones, max(1, len(self.phones) // 20))
        action = self.random.choice(["rotate", "rotate-start", "offline", "online", "online", "launch"])
        self.simulator.call("POST", "/actions", {"actions": [{"action": action, "phones": phones}]})

    def end(self):
        for name in self.names:
            state, began = content(next(self.numbers)), time.time()
            answer = self.backend.call("POST", f"{PATH}/activities/{name}/end", {"content_state": state})
            self.note(name, "end", answer, began, state)
        self.simulator.call("POST", "/actions", {"actions": [{"action": "online", "phones": self.phones}]})

    def verdict(self, limit=90):
        """What the phones show in the end, when all that waits has been given its time."""
        lines = "\n".join(json.dumps(post) for post in self.posts).encode()
        deadline = time.monotonic() + limit
        while True:
            report = self.simulator.call("POST", "/report", lines)
            if not report["wrong"] and report["phones"] >= len(self.phones) or time.monotonic() > deadline:
                return report
            time.sleep(1)

    def forget(self):
        """The apps are removed: nothing of these devices stays."""
        for phone in self.phones:
            self.backend.call("DELETE", f"{PATH}/devices/{phone}")


class Reader(threading.Thread):
    """Follows the events for as long as the soak goes on, and goes on where it was after an interruption."""

    def __init__(self, url, key, stop):
        super().__init__(daemon=True)
        self.url, self.key, self.stop = url, key, stop
        self.events, self.breaks, self.last = 0, 0, None

    def run(self):
        while not self.stop.is_set():
            head = {"Authorization": f"Bearer {self.key}", "Accept": "text/event-stream"}
            if self.last:
                head["Last-Event-ID"] = self.last
            try:
                with urllib.request.urlopen(urllib.request.Request(self.url + "/v1/events", headers=head), timeout=60) as stream:
                    for line in stream:
                        if line.startswith(b"id: "):
                            self.last = line[4:].strip().decode()
                            self.events += 1
                        if self.stop.is_set():
                            return
            except OSError:
                self.breaks += 1
                time.sleep(1)

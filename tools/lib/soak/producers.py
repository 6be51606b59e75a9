"""Backends that post more than can be accepted: batches at a steady pace, whatever the answers are."""

import collections
import http.client
import json
import multiprocessing
import re
import threading
import time
import urllib.parse

from traffic import PATH, content

# Operations in a request.
BATCH = 200
ALERT = {"title": "Goal!", "body": "Argentina against France"}


def template(kind):
    """The text of a change with places for its activity and its number; no two of a kind are alike.

    Filled in as text, so that producers need little of the machine that they share.
    """
    state = json.dumps(content(0)).replace('"minute": 0', '"minute": %(number)d')
    body = '"content_state": ' + state
    if kind == "routine":
        body += ', "urgency": "routine"'
    if kind == "alert":
        body += ', "urgency": "notable", "alert": ' + json.dumps(ALERT)
    op = "end" if kind == "end" else "update"
    key = f"{kind}-%(name)s-%(number)d"
    return f'{{"op": "{op}", "id": "%(name)s", "idempotency_key": "{key}", "body": {{{body}}}}}'


# How a result of a batch begins; a problem within it has its status elsewhere.
STATUS = re.compile(rb'\{"status":(\d{3}),')


class Producer:
    """Posts changes of one kind in batches over many connections, in a process of its own."""

    def __init__(self, kind, names, per_second, connections, first):
        self.kind, self.names, self.first, self.template = kind, names, first, template(kind)
        # None: as fast as the answers come.
        self.pace = BATCH / per_second if per_second else None
        # Those who end activities end each once.
        self.last = len(names) // BATCH if kind == "end" else None
        self.connections = connections

    def start(self, url, key, seconds):
        self.pipe, inner = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=self.work, args=(inner, url, key, seconds), daemon=True)
        self.process.start()

    def result(self):
        """How often each status came, and the sorted seconds of the requests in which something was accepted."""
        said = self.pipe.recv()
        self.process.join()
        if isinstance(said, str):
            raise RuntimeError(said)
        return said

    # --- In the process ---

    def work(self, pipe, url, key, seconds):
        self.address = urllib.parse.urlsplit(url).netloc
        self.head = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self.lock, self.taken, self.failure = threading.Lock(), 0, None
        self.statuses, self.seconds = collections.Counter(), []
        self.began = time.monotonic()
        self.until = self.began + seconds
        threads = [threading.Thread(target=self.post, daemon=True) for _ in range(self.connections)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        pipe.send(self.failure or (dict(self.statuses), sorted(self.seconds)))

    def turn(self):
        """The number of the next batch when its time has come; None when there is none."""
        with self.lock:
            number = self.taken
            self.taken += 1
        if self.last is not None and number >= self.last:
            return None
        if self.pace:
            time.sleep(max(0, self.began + number * self.pace - time.monotonic()))
        return number if time.monotonic() < self.until else None

    def post(self):
        connection = http.client.HTTPConnection(self.address, timeout=120)
        try:
            while (number := self.turn()) is not None and not self.failure:
                self.one(connection, number)
        except (OSError, http.client.HTTPException, KeyError, ValueError) as error:
            self.failure = f"the producer of {self.kind} changes: {error!r}"
        connection.close()

    def one(self, connection, number):
        base = number * BATCH
        operations = [
            self.template % {"name": self.names[(base + place) % len(self.names)], "number": self.first + base + place}
            for place in range(BATCH)
        ]
        body = f'{{"operations": [{",".join(operations)}]}}'.encode()
        began = time.monotonic()
        connection.request("POST", f"{PATH}/batch", body, self.head)
        answer = connection.getresponse()
        text = answer.read()
        took = time.monotonic() - began
        if answer.status != 200:
            raise ValueError(f"{answer.status} {text[:300]!r}")
        statuses = collections.Counter(map(int, STATUS.findall(text)))
        if statuses.total() != BATCH:
            raise ValueError(f"not {BATCH} results: {text[:300]!r}")
        with self.lock:
            self.statuses += statuses
            if statuses[202]:
                self.seconds.append(took)


class Probe(threading.Thread):
    """A backend that posts a routine change every 50 ms, each by itself, and goes on."""

    def __init__(self, url, key, activity):
        super().__init__(daemon=True)
        self.address = urllib.parse.urlsplit(url).netloc
        self.head = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self.activity, self.stop = activity, threading.Event()
        # (when it was sent, status, seconds, Retry-After)
        self.answers = []

    def run(self):
        connection = http.client.HTTPConnection(self.address, timeout=120)
        number = 0
        while not self.stop.wait(0.05):
            number += 1
            body = json.dumps({"content_state": content(number), "urgency": "routine"}).encode()
            began = time.monotonic()
            connection.request("POST", f"{PATH}/activities/{self.activity}/updates", body, self.head)
            answer = connection.getresponse()
            answer.read()
            self.answers.append((began, answer.status, time.monotonic() - began, answer.headers.get("Retry-After")))
        connection.close()

    def between(self, begin, end):
        return [answer for answer in self.answers if begin <= answer[0] < end]

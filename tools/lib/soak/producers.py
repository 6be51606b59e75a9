"""Backends that post more than can be accepted: batches at a steady pace, whatever the answers are."""

import asyncio
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
LENGTH = re.compile(rb"content-length: (\d+)")


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
        self.address = urllib.parse.urlsplit(url)
        head = (
            f"POST {PATH}/batch HTTP/1.1\r\nHost: {self.address.netloc}\r\nAuthorization: Bearer {key}\r\n"
            "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        )
        self.head = head.encode()
        self.taken, self.statuses, self.seconds = 0, collections.Counter(), []
        self.began = time.monotonic()
        self.until = self.began + seconds
        try:
            asyncio.run(self.post_all())
            pipe.send((dict(self.statuses), sorted(self.seconds)))
        except (OSError, EOFError, ValueError, asyncio.TimeoutError, asyncio.LimitOverrunError) as error:
            pipe.send(f"the producer of {self.kind} changes: {error!r}")

    async def post_all(self):
        """One thread for all connections: so many of them would spend more on changing turns than on posting."""
        await asyncio.gather(*(self.post() for _ in range(self.connections)))

    async def turn(self):
        """The number of the next batch when its time has come; None when there is none."""
        number = self.taken
        self.taken += 1
        if self.last is not None and number >= self.last:
            return None
        if self.pace:
            await asyncio.sleep(self.began + number * self.pace - time.monotonic())
        return number if time.monotonic() < self.until else None

    async def post(self):
        reader, writer = await asyncio.open_connection(self.address.hostname, self.address.port)
        while (number := await self.turn()) is not None:
            await asyncio.wait_for(self.one(reader, writer, number), 120)
        writer.close()

    async def one(self, reader, writer, number):
        base = number * BATCH
        operations = [
            self.template % {"name": self.names[(base + place) % len(self.names)], "number": self.first + base + place}
            for place in range(BATCH)
        ]
        body = f'{{"operations": [{",".join(operations)}]}}'.encode()
        began = time.monotonic()
        writer.write(self.head % len(body) + body)
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = LENGTH.search(head)
        if length is None:
            raise ValueError(f"an answer without a length: {head!r}")
        text = await reader.readexactly(int(length.group(1)))
        took = time.monotonic() - began
        statuses = collections.Counter(map(int, STATUS.findall(text)))
        if not head.startswith(b"http/1.1 200 ") or statuses.total() != BATCH:
            raise ValueError(f"not {BATCH} results: {head!r} {text[:300]!r}")
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

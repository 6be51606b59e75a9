"""Backends that post more than can be accepted: batches at a steady pace, whatever the answers are and take."""

import asyncio
import collections
import http.client
import json
import multiprocessing
import re
import signal
import threading
import time
import urllib.parse

from measure import Failure
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
# Seconds that an answer may take.
PATIENCE = 120


class Producer:
    """Posts changes of one kind in batches over as many connections as that takes, in a process of its own."""

    def __init__(self, kind, names, per_second, connections, first):
        self.kind, self.names, self.first, self.template = kind, names, first, template(kind)
        # None: as fast as the answers come, on all connections.
        self.pace = BATCH / per_second if per_second else None
        # Those who end activities end each once.
        self.last = len(names) // BATCH if kind == "end" else None
        # At most.
        self.connections = connections

    def start(self, url, key, seconds):
        self.pipe, inner = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=self.work, args=(inner, url, key, seconds), daemon=True)
        self.process.start()
        inner.close()
        self.deadline = time.monotonic() + seconds + 2 * PATIENCE

    def result(self):
        """How often each status came, the seconds until the batches were answered, and how many connections it took."""
        try:
            said = self.pipe.recv() if self.pipe.poll(self.deadline - time.monotonic()) else "it does not end"
        except EOFError:
            said = "it ended without a word"
        self.process.terminate()
        self.process.join()
        if isinstance(said, str):
            raise Failure(f"the producer of {self.kind} changes: {said}")
        return said

    # --- In the process ---

    def work(self, pipe, url, key, seconds):
        # Whoever has started us ends us.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self.address = urllib.parse.urlsplit(url)
        head = (
            f"POST {PATH}/batch HTTP/1.1\r\nHost: {self.address.netloc}\r\nAuthorization: Bearer {key}\r\n"
            "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        )
        self.head = head.encode()
        self.taken, self.statuses, self.opened = 0, collections.Counter(), 0
        # Of batches of which something was accepted, and of the others.
        self.seconds = {True: [], False: []}
        self.began = time.monotonic()
        self.until = self.began + seconds
        try:
            asyncio.run(self.post_all())
            pipe.send((dict(self.statuses), self.seconds, self.opened))
        except (OSError, EOFError, ValueError, asyncio.TimeoutError, asyncio.LimitOverrunError) as error:
            pipe.send(repr(error))

    async def post_all(self):
        """One thread for all connections: so many of them would spend more on changing turns than on posting."""
        if self.pace:
            await self.post_in_time()
        else:
            await asyncio.gather(*(self.post_in_turn() for _ in range(self.connections)))

    async def post_in_time(self):
        """A batch whenever its time has come, also where those before it have no answer yet. It takes the connection that
        was last in use, so that no more are open than are needed, and a new one if none is free."""
        free, room, posts = [], asyncio.Semaphore(self.connections), set()

        async def post(number):
            try:
                connection = free.pop() if free else await self.connect()
                await self.one(*connection, number)
                free.append(connection)
            finally:
                room.release()

        while await room.acquire() and (number := await self.turn()) is not None:
            posts.add(asyncio.create_task(post(number)))
            for over in [post for post in posts if post.done()]:
                posts.remove(over)
                over.result()  # What went wrong with one ends all.
        await asyncio.gather(*posts)

    async def post_in_turn(self):
        connection = await self.connect()
        while (number := await self.turn()) is not None:
            await self.one(*connection, number)

    async def connect(self):
        self.opened += 1
        return await asyncio.wait_for(asyncio.open_connection(self.address.hostname, self.address.port), PATIENCE)

    async def turn(self):
        """The number of the next batch when its time has come; None when there is none."""
        number = self.taken
        self.taken += 1
        if self.last is not None and number >= self.last:
            return None
        if self.pace:
            await asyncio.sleep(self.began + number * self.pace - time.monotonic())
        return number if time.monotonic() < self.until else None

    async def one(self, reader, writer, number):
        """Posts a batch and counts what became of it."""
        base = number * BATCH
        operations = [
            self.template % {"name": self.names[(base + place) % len(self.names)], "number": self.first + base + place}
            for place in range(BATCH)
        ]
        body = f'{{"operations": [{",".join(operations)}]}}'.encode()
        began = time.monotonic()
        head, text = await asyncio.wait_for(self.answer(reader, writer, body), PATIENCE)
        took = time.monotonic() - began
        statuses = collections.Counter(map(int, STATUS.findall(text)))
        if head.startswith(b"http/1.1 429 "):
            statuses = collections.Counter({429: BATCH})  # As a whole, unread.
        elif not head.startswith(b"http/1.1 200 ") or statuses.total() != BATCH:
            raise ValueError(f"not {BATCH} results: {head!r} {text[:300]!r}")
        self.statuses += statuses
        self.seconds[202 in statuses].append(took)

    async def answer(self, reader, writer, body):
        writer.write(self.head % len(body) + body)
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = LENGTH.search(head)
        if length is None:
            raise ValueError(f"an answer without a length: {head!r}")
        return head, await reader.readexactly(int(length.group(1)))


class Probe(threading.Thread):
    """A backend that posts a routine change every 50 ms, each by itself, and goes on."""

    def __init__(self, url, key, activity):
        super().__init__(daemon=True)
        self.address = urllib.parse.urlsplit(url).netloc
        self.head = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self.activity, self.stop = activity, threading.Event()
        # (when it was sent, status, seconds, Retry-After)
        self.answers = []
        # What ended it early.
        self.failure = None

    def run(self):
        try:
            self.post_all()
        except (OSError, http.client.HTTPException) as error:
            self.failure = error

    def post_all(self):
        connection = http.client.HTTPConnection(self.address, timeout=PATIENCE)
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

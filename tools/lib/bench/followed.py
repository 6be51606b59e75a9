"""One match that many browsers follow in the console, as Sources/Console/Assets/console.js does it."""

import asyncio
import threading
import time
import urllib.parse

from measure import Failure
from visitor import Visitor


class Browser:
    """Follows the events of a match, and asks for the live parts of its page after some."""

    def __init__(self, place, session, app, activity):
        self.host, self.port = place
        self.session, self.last = session, "0-0"
        self.room = f"/console/activity?app={app}&id={activity}"
        self.stream = f"/console/events/stream?bundle_id={app}&activity_id={activity}"
        self.due = asyncio.Event()
        self.renewals = 0
        self.connected = asyncio.Event()

    def head(self, path):
        return f"GET {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nCookie: {self.session}\r\n\r\n".encode()

    async def follow(self):
        reader, writer = await asyncio.open_connection(self.host, self.port)
        writer.write(self.head(self.stream))
        if b" 200 " not in await reader.readline():
            raise Failure("a browser was not let follow the events")
        self.connected.set()
        place = None
        while line := await reader.readline():
            if line.startswith(b"id: "):
                place = line[4:].strip().decode()
            elif line.startswith(b"event: "):
                self.last = place
                self.due.set()
        raise Failure("a stream of events has ended")

    async def renew(self):
        reader, writer = await asyncio.open_connection(self.host, self.port, limit=1 << 20)
        while True:
            await self.due.wait()
            await asyncio.sleep(0.25)
            while self.due.is_set():
                self.due.clear()
                writer.write(self.head(f"{self.room}&after={self.last}"))
                head = await reader.readuntil(b"\r\n\r\n")
                if b" 200 " not in head.split(b"\r\n")[0]:
                    raise Failure(f"a page was answered with {head[:60]}")
                fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
                await reader.readexactly(int(fields[b"content-length"]))
                self.renewals += 1
                await asyncio.sleep(1)


class Followed:
    """Used in a `with`: so many browsers, spread over the keys."""

    def __init__(self, daemon, keys, count, app, activity):
        self.daemon, self.app, self.activity = daemon, app, activity
        address = urllib.parse.urlsplit(daemon.url)
        sessions = [Visitor(daemon.url, key).session for key in keys]
        place = (address.hostname, address.port)
        self.browsers = [Browser(place, sessions[n % len(keys)], app, activity) for n in range(count)]
        self.failure = None

    def __enter__(self):
        ready = threading.Event()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.run, args=(ready,))
        self.thread.start()
        if not ready.wait(60):
            raise Failure("the browsers did not connect")
        return self

    def run(self, ready):
        async def all():
            tasks = [asyncio.create_task(work) for one in self.browsers for work in (one.follow(), one.renew())]
            connected = asyncio.gather(*(one.connected.wait() for one in self.browsers))
            self.stop = asyncio.Event()
            tasks.append(asyncio.create_task(self.stop.wait()))
            await connected
            ready.set()
            done, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)
            for task in done:
                self.failure = self.failure or task.exception()

        self.loop.run_until_complete(all())
        self.loop.close()

    def __exit__(self, *_):
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.stop.set)
        self.thread.join()

    @property
    def renewals(self):
        return sum(one.renewals for one in self.browsers)

    def play(self, pace, seconds):
        """Posts a change every `pace` seconds, for so long."""
        began, number = time.monotonic(), 0
        while number * pace < seconds:
            time.sleep(max(0, began + number * pace - time.monotonic()))
            state = {"content_state": {"homeScore": 3, "awayScore": 3, "minute": int(time.monotonic() * 10), "period": "live"}}
            self.daemon.call("POST", f"/v1/apps/{self.app}/activities/{self.activity}/updates", state)
            number += 1
        time.sleep(max(0, began + seconds - time.monotonic()))
        if self.failure:
            raise Failure(self.failure)

"""Streams of changes to one daemon. Prints how many lines were answered, and in how many seconds.

Arguments: URL, app, API key, number of this run, number of activities, lines, streams. The lines are made before the
time begins, so that making them costs nobody's CPU.
"""

import json
import socket
import sys
import threading
import time
from urllib.parse import urlsplit

BLOCK = 64 << 10
# A state of 400 bytes, as in posts.lua.
BEFORE = '{"home_score":2,"away_score":1,"period":"second_half","last_event":"'
AFTER = '","clock":'
EVENT = ("Mbappe scores. " * 40)[: 400 - len(BEFORE) - len(AFTER) - len("100000000}")]


def line(run, number, activities):
    state = f"{BEFORE}{EVENT}{AFTER}{100_000_000 + run * 1_000_000 + number}}}"
    head = f'{{"op":"update","id":"match-{number % activities + 1}","idempotency_key":"run-{run}-{number}"'
    return f'{head},"body":{{"content_state":{state}}}}}\n'


def blocks(lines):
    """The lines as chunks of a body."""
    held, size = [], 0
    for text in lines:
        held.append(text)
        size += len(text)
        if size >= BLOCK:
            yield f"{size:x}\r\n{''.join(held)}\r\n".encode()
            held, size = [], 0
    if held:
        yield f"{size:x}\r\n{''.join(held)}\r\n".encode()
    yield b"0\r\n\r\n"


class Stream:
    def __init__(self, address, head, body):
        self.connection = socket.create_connection(address, timeout=60)
        self.head, self.body = head, body
        self.answered = self.accepted = 0
        self.broken = None

    def send(self):
        try:
            self.connection.sendall(self.head)
            for block in self.body:
                self.connection.sendall(block)
        except OSError as error:
            self.broken = error

    def read(self):
        rest = tail = b""
        try:
            while tail != b"\r\n0\r\n\r\n":
                data = self.connection.recv(1 << 20)
                if not data:
                    raise OSError("the stream broke off")
                tail = (tail + data)[-7:]
                lines, _, rest = (rest + data).rpartition(b"\n")
                self.answered += lines.count(b'{"status":')
                self.accepted += lines.count(b'{"status":202,')
        except OSError as error:
            self.broken = error


def main():
    url, app, key, run, activities, count, width = sys.argv[1:]
    run, activities, count, width = int(run), int(activities), int(count), int(width)
    address = urlsplit(url)
    head = (
        f"POST /v1/apps/{app}/ingest HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {key}\r\n"
        "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
    ).encode()
    streams = []
    for place in range(width):
        own = (line(run, number, activities) for number in range(place + 1, count + 1, width))
        streams.append(Stream((address.hostname, address.port), head, list(blocks(own))))
    threads = [threading.Thread(target=work) for stream in streams for work in (stream.send, stream.read)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - began
    answered = sum(stream.answered for stream in streams)
    print(
        json.dumps(
            {
                "requests": answered,
                "seconds": seconds,
                "refused": answered - sum(stream.accepted for stream in streams),
                "broken": sum(stream.broken is not None for stream in streams),
            }
        )
    )


if __name__ == "__main__":
    main()

"""Many callers of an HTTP API at a time, each on a connection of its own that stays open."""

import http.client
import json
import threading
import time
import urllib.parse

from measure import Failure


class Callers:
    def __init__(self, url, key, count):
        self.address = urllib.parse.urlsplit(url).netloc
        self.head = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self.count = count

    def run(self, calls):
        """Makes the calls, (method, path, body) each, every one answered with 2xx; the seconds that each took."""
        calls, lock = iter(calls), threading.Lock()
        seconds, failures = [], []

        def work():
            connection = http.client.HTTPConnection(self.address, timeout=120)
            while not failures:
                with lock:
                    call = next(calls, None)
                if call is None:
                    break
                try:
                    seconds.append(self.one(connection, *call))
                except (Failure, OSError, http.client.HTTPException) as failure:
                    failures.append(failure)
            connection.close()

        threads = [threading.Thread(target=work) for _ in range(self.count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise Failure(f"a call failed: {failures[0]}")
        return seconds

    def one(self, connection, method, path, body):
        text = json.dumps(body).encode()
        began = time.monotonic()
        connection.request(method, path, text, self.head)
        answer = connection.getresponse()
        said = answer.read()
        if not 200 <= answer.status < 300:
            raise Failure(f"{method} {path}: {answer.status} {said[:300]}")
        return time.monotonic() - began

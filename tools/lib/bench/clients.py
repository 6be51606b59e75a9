"""The clients of the transport bench: how each is started, and how many of its pushes were accepted."""

import json
import os
import random
import re

from credentials import signing_key
from measure import Failure, said_by

PEERS = os.path.join(os.path.dirname(__file__), "..", "..", "benches", "peers")


class Clients:
    """Makes the command of each client for one sink. All send the same head and body to tokens of one length."""

    def __init__(self, bin, folder, aioapns, body, chunk, under_way):
        self.folder = folder
        self.program = os.path.join(bin, "bench-transport")
        self.aioapns_python = aioapns
        self.body_bytes = body
        self.chunk = chunk
        self.under_way = under_way
        self.request = json.loads(said_by([self.program, "describe", "--body", str(body)]))
        with open(self.path("body"), "w") as file:
            file.write(self.request["body"])

    def path(self, name):
        return os.path.join(self.folder, name)

    def tally(self, sink, count, connections, streams, http2="tally"):
        return [
            self.program, "batches", "--port", str(sink.port), "--ca", self.path("ca.pem"),
            "--body", str(self.body_bytes), "--count", str(count), "--connections", str(connections), "--http2", http2,
            "--chunk", str(self.chunk), "--under-way", str(self.under_way(connections * streams, self.chunk)),
        ]  # fmt: skip

    def tally_singles(self, sink, count):
        return [
            self.program, "singles", "--port", str(sink.port), "--ca", self.path("ca.pem"),
            "--body", str(self.body_bytes), "--count", str(count), "--connections", "1", "--http2", "tally",
        ]  # fmt: skip

    def h2load(self, sink, count, connections, streams):
        # A thousand tokens in turn: it cannot make new ones.
        tokens = random.Random(1)
        with open(self.path("uris"), "w") as file:
            for _ in range(1000):
                token = tokens.randbytes(self.request["tokenDigits"] // 2).hex()
                file.write(f"https://localhost:{sink.port}{self.request['pathPrefix']}{token}\n")
        command = [
            "h2load", "-t", "1", "-n", str(count), "-c", str(connections), "-m", str(streams),
            "-i", self.path("uris"), "-d", self.path("body"),
        ]  # fmt: skip
        for name, value in self.request["fields"]:
            command += ["-H", f"{name}: {value}"]
        return command

    def node(self, sink, count, streams):
        settings = {
            **self.request, "port": sink.port, "ca": self.path("ca.pem"), "count": count, "streams": streams,
        }  # fmt: skip
        return self.with_settings("node", ["node", os.path.join(PEERS, "node_client.mjs")], settings)

    def aioapns(self, sink, count, streams):
        settings = {
            "port": sink.port, "ca": self.path("ca.pem"), "key": signing_key(), "count": count, "streams": streams,
            "body_bytes": self.body_bytes,
        }  # fmt: skip
        return self.with_settings("aioapns", [self.aioapns_python, os.path.join(PEERS, "aioapns_client.py")], settings)

    def with_settings(self, name, command, settings):
        """A command that reads its settings from standard input."""
        path = self.path(name + ".json")
        with open(path, "w") as file:
            json.dump(settings, file)
        return ["sh", "-c", 'exec "$@" <"$0"', path, *command]


def accepted(run):
    """How many pushes a client says were accepted; each says it in its own way."""
    found = re.search(r'"accepted" ?: ?(\d+)', run.output) or re.search(r"(\d+) 2xx", run.output)
    if not found:
        raise Failure(f"a client did not say what became of its pushes: {run.output[-300:]}")
    return int(found.group(1))

"""tools/bench webhooks: events that wait for a webhook, posted to a lean receiver over loopback; then the same beside webhooks
whose receivers take requests and never answer."""

import asyncio
import json
import os
import re
import subprocess
import sys

import command
from cluster import Workbench, server_parser
from credentials import make_certificate
from measure import Failure, median, run, say, table
from processes import Process, Program

BATCH = 100
DEAD = 50
# With fewer events a second something is broken; bench-orchestrator gives up then, and says what it waited for.
SLOWEST = 500


class Receiver(Program):
    """This file as a program of its own; used in a `with`."""

    patience = 5

    def start(self):
        return subprocess.Popen(
            [sys.executable, __file__, "receive"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def come_up(self):
        ports = self.process.stdout.readline().split()
        if len(ports) != 2:
            raise Failure("the receiver did not start")
        self.port, self.silent_port = map(int, ports)

    def stop(self):
        self.process.stdin.close()

    def counts(self):
        """What has come since it was last asked."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Failure("the receiver has ended")
        return json.loads(line)

    @property
    def cpu(self):
        return Process(self.process.pid).cpu


class Counted(asyncio.Protocol):
    """HTTP/1.1 as far as the daemon's client speaks it: a length, and one request after the other."""

    seen = {"requests": 0, "events": 0, "first": None, "last": None}

    def connection_made(self, transport):
        self.transport, self.buffer = transport, b""

    def data_received(self, data):
        self.buffer += data
        while True:
            head = self.buffer.find(b"\r\n\r\n")
            if head < 0:
                return
            length = int(re.search(rb"(?i)\r\ncontent-length: *(\d+)", self.buffer[: head + 2])[1])
            end = head + 4 + length
            if len(self.buffer) < end:
                return
            seen, now = Counted.seen, asyncio.get_running_loop().time()
            seen["requests"] += 1
            seen["events"] += self.buffer.count(b'"kind":', head, end)
            seen["first"], seen["last"] = seen["first"] or now, now
            self.buffer = self.buffer[end:]
            self.transport.write(b"HTTP/1.1 204 No Content\r\n\r\n")


async def receive():
    """Counts what comes to one port, and answers nothing at another; says the counts for each line."""
    loop = asyncio.get_running_loop()
    alive = await loop.create_server(Counted, "127.0.0.1", 0)
    silent = await loop.create_server(asyncio.Protocol, "127.0.0.1", 0, backlog=1000)
    print(*(server.sockets[0].getsockname()[1] for server in (alive, silent)), flush=True)
    while await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps(Counted.seen), flush=True)
        Counted.seen = {"requests": 0, "events": 0, "first": None, "last": None}


class Bench:
    def __init__(self, options, workbench, receiver):
        self.options, self.workbench, self.receiver = options, workbench, receiver
        self.cpus = os.sched_getaffinity(0)

    def figure(self, count, dead):
        """One process of the daemon on a fresh database."""
        words = [
            os.path.join(self.options.bin, "bench-orchestrator"), "webhooks", "--port", "1",
            "--ca", os.path.join(self.workbench.folder, "ca.pem"), "--database", self.workbench.cluster.fresh(),
            "--events", str(count), "--batch", str(BATCH), "--receiver", f"http://127.0.0.1:{self.receiver.port}/hook",
        ]  # fmt: skip
        if dead:
            words += ["--dead", str(dead), "--silent", f"http://127.0.0.1:{self.receiver.silent_port}/hook"]
        before = self.receiver.cpu
        # Longer than all of its own deadlines together.
        result = run(words, self.cpus, deadline=240 + count // SLOWEST)
        seen = self.receiver.counts()
        if seen["events"] != count:
            raise Failure(f"{count} events were to arrive: {seen}")
        # The first message has come when the clock starts, so its events do not count.
        seconds = seen["last"] - seen["first"]
        return json.loads(result.output) | {
            "requests": seen["requests"],
            "seconds_of_receiver": round(seconds, 3),
            "events_per_second": round((count - BATCH) / seconds),
            "process_cpu_seconds": round(result.cpu, 2),
            "receiver_cpu_seconds": round(self.receiver.cpu - before, 2),
        }


def main():
    arguments = server_parser("webhooks", __doc__, "a tenth of the events, in one run of each", cpus=2)
    arguments.add_argument("--rounds", type=command.count, help="runs of each (default 3, with --quick 1)")
    arguments.add_argument("--events", type=command.count, default=100_000, help="how many (default 100000)")
    options = arguments.parse_args()
    count = options.events // (10 if options.quick else 1)
    rounds = options.rounds or (1 if options.quick else 3)
    if count <= BATCH:
        arguments.error(f"more than {BATCH} events are needed")
    with Workbench(options) as workbench:
        make_certificate(workbench.folder)
        workbench.cluster.age()
        with Receiver() as receiver:
            bench = Bench(options, workbench, receiver)
            found = {"alone": [], "beside_dead": []}
            # In turn, so that what else the machine does meets both.
            for _ in range(rounds):
                for name, dead in (("alone", 0), ("beside_dead", DEAD)):
                    found[name].append(bench.figure(count, dead))
                    say(f"   {name}: {found[name][-1]}")
    rates = {name: median([one["events_per_second"] for one in runs]) for name, runs in found.items()}
    ratio = round(rates["beside_dead"] / rates["alone"], 2)
    rows = [
        ["", "events/s"],
        [f"{count:,} events, {BATCH} a message, one receiver", f"{rates['alone']:,.0f}"],
        [f"   beside {DEAD} webhooks whose receivers never answer", f"{rates['beside_dead']:,.0f}"],
    ]
    parts = {"webhooks": {"events_per_second": rates, "runs": found}}
    workbench.report({"ratio_beside_dead": ratio}, parts, table(rows))


if __name__ == "__main__":
    if sys.argv[1:] == ["receive"]:
        asyncio.run(receive())
    else:
        command.play("tools/bench webhooks", main)

"""tools/bench start: from exec to ready, and memory at rest; beside servers that do nothing yet, and a connection to Postgres."""

import http.client
import os
import re
import subprocess
import sys
import time

import command
from cluster import Workbench, program, server_parser
from daemon import Daemon
from measure import CLOCK_TICKS, Failure, median, said_by, table, version
from processes import Process, Program

PEERS = os.path.join(os.path.dirname(__file__), "..", "..", "benches", "peers")
DEADLINE = 60


def answers(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


class Server(Program):
    """A program that prints the port it listens on in its first line; used in a `with`."""

    def __init__(self, command, path, environment=None):
        self.command, self.path, self.environment = command, path, environment

    def start(self):
        self.began = time.monotonic()
        return subprocess.Popen(
            self.command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=self.environment
        )

    def come_up(self):
        found = re.search(r"(\d+)\D*$", self.process.stdout.readline().split("(")[0])
        if not found:
            raise Failure(f"{self.command[0]} did not start")
        while not answers(int(found.group(1)), self.path):
            if time.monotonic() > self.began + DEADLINE:
                raise Failure(f"{self.command[0]} was not ready within {DEADLINE} s")
            time.sleep(0.0005)
        self.seconds = time.monotonic() - self.began


class Bench:
    def __init__(self, options, folder, cluster):
        self.options, self.cluster = options, cluster
        daemon = Daemon(options.bin, cluster.fresh())
        daemon.migrate()
        self.servers = {
            "tallyd": lambda: Server([daemon.program, "serve"], "/health/ready", daemon.environment),
            "node": lambda: Server(["node", os.path.join(PEERS, "node_server.mjs")], "/"),
            "python": lambda: Server(
                [sys.executable, "-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory", folder, "0"], "/"
            ),
        }

    def rounds(self):
        """Each starts everything once; memory is looked at in the first after a rest."""
        starts = {name: [] for name in self.servers}
        at_rest = {}
        for number in range(self.options.rounds):
            for name, make in self.servers.items():
                with make() as server:
                    starts[name].append(server.seconds)
                    if number == 0:
                        at_rest[name] = self.rest(Process(server.process.pid))
        return {name: {"start_ms": [round(one * 1e3, 2) for one in starts[name]]} | at_rest[name] for name in starts}

    def rest(self, process):
        seconds = 2 if self.options.quick else 20
        cpu = process.cpu
        time.sleep(seconds)
        return {
            "resident_mib": round(process.resident / 2**20, 1),
            "threads": process.threads,
            "descriptors": process.descriptors,
            "cpu_ms_per_second": round((process.cpu - cpu) / seconds * 1e3, 2),
        }

    def connection(self):
        """The least that anything with this database takes: psql from exec to the answer of one query."""
        times = []
        for _ in range(self.options.rounds):
            began = time.monotonic()
            said_by([program("psql"), "-X", "-q", "-c", "SELECT 1", self.cluster.url])
            times.append((time.monotonic() - began) * 1e3)
        return {"start_ms": [round(one, 2) for one in times]}


WORDS = {"tallyd": "tallyd serve", "node": "node, http", "python": "python3 -m http.server"}


def lines(servers, connection):
    rows = [["", "ready after ms", "resident MiB", "threads", "descriptors", "CPU at rest"]]
    for name, words in WORDS.items():
        one = servers[name]
        rows.append([
            words, f"{median(one['start_ms']):.0f}", f"{one['resident_mib']:.1f}", str(one["threads"]),
            str(one["descriptors"]), f"{one['cpu_ms_per_second'] / 10:.2f} %",
        ])  # fmt: skip
    rows.append(["psql, one query", f"{median(connection['start_ms']):.0f}", "", "", "", ""])
    return table(rows)


def ratios(servers):
    def of(name, field):
        value = servers[name][field]
        return median(value) if field == "start_ms" else value

    return {
        f"ratio_to_{name}_{kind}": round(of(name, field) / of("tallyd", field), 3)
        for name in ("node", "python")
        for kind, field in (("start", "start_ms"), ("memory", "resident_mib"))
    }


def main():
    quick = "rest for 2 seconds instead of 20: a rough look"
    options = server_parser("start", __doc__, quick, rounds=(15, "how often each is started")).parse_args()
    with Workbench(options) as workbench:
        bench = Bench(options, workbench.folder, workbench.cluster)
        servers, connection = bench.rounds(), bench.connection()
    workbench.report(
        ratios(servers),
        {"servers": servers, "psql": connection},
        lines(servers, connection),
        rounds=options.rounds,
        node=version("node", "--version"),
        python=sys.version.split()[0],
        **{"clock ticks": f"{CLOCK_TICKS}/s"},
    )


if __name__ == "__main__":
    command.play("tools/bench start", main)

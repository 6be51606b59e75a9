"""tools/bench start: from exec to ready, and memory at rest; beside servers that do nothing yet, and a connection to Postgres."""

import argparse
import http.client
import os
import re
import subprocess
import sys
import tempfile
import time

from cluster import Cluster, program
from daemon import Daemon
from measure import Failure, conditions, median, table, to_json, version
from processes import CLOCK_TICKS, Process

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


class Server:
    """A program that prints the port it listens on in its first line; used in a `with`."""

    def __init__(self, command, path, environment=None):
        self.command, self.path, self.environment = command, path, environment

    def __enter__(self):
        began = time.monotonic()
        self.process = subprocess.Popen(
            self.command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=self.environment
        )
        found = re.search(r"(\d+)\D*$", self.process.stdout.readline().split("(")[0])
        if not found:
            raise Failure(f"{self.command[0]} did not start")
        while not answers(int(found.group(1)), self.path):
            if time.monotonic() > began + DEADLINE:
                raise Failure(f"{self.command[0]} was not ready within {DEADLINE} s")
            time.sleep(0.0005)
        self.seconds = time.monotonic() - began
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class Bench:
    def __init__(self, options, folder, cluster):
        self.options, self.cluster = options, cluster
        daemon = Daemon(options.bin, cluster.fresh())
        subprocess.run([daemon.program, "migrate"], env=daemon.environment, check=True, capture_output=True)
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
            subprocess.run([program("psql"), "-X", "-q", "-c", "SELECT 1", self.cluster.url], check=True, capture_output=True)
            times.append((time.monotonic() - began) * 1e3)
        return {"start_ms": [round(one, 2) for one in times]}


WORDS = {"tallyd": "tallyd serve", "node": "node, http", "python": "python3 -m http.server"}


def report(servers, connection, facts):
    rows = [["", "ready after ms", "resident MiB", "threads", "descriptors", "CPU at rest"]]
    for name, words in WORDS.items():
        one = servers[name]
        rows.append([
            words, f"{median(one['start_ms']):.0f}", f"{one['resident_mib']:.1f}", str(one["threads"]),
            str(one["descriptors"]), f"{one['cpu_ms_per_second'] / 10:.2f} %",
        ])  # fmt: skip
    rows.append(["psql, one query", f"{median(connection['start_ms']):.0f}", "", "", "", ""])
    print("\n".join(table(rows)))
    print("\n" + "\n".join(f"{name}: {value}" for name, value in facts.items()))


def main():
    parser = argparse.ArgumentParser(prog="tools/bench start", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one object instead of a table")
    parser.add_argument("--quick", action="store_true", help="rest for 2 seconds instead of 20: a rough look")
    parser.add_argument("--rounds", type=int, default=15, help="how often each is started (default 15)")
    parser.add_argument("--bin", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    facts = conditions()
    with tempfile.TemporaryDirectory(prefix="tally-bench-", dir="/var/tmp") as folder:
        # Postgres does not run as root, and has to come by here; its own folder is nobody else's.
        os.chmod(folder, 0o711)
        with Cluster(options.bin, folder) as cluster:
            bench = Bench(options, folder, cluster)
            servers, connection = bench.rounds(), bench.connection()
            cluster.drop()
    facts |= {
        "load_after": round(os.getloadavg()[0], 2),
        "rounds": options.rounds,
        "clock ticks": f"{CLOCK_TICKS}/s",
        "postgres": version(program("postgres"), "--version"),
        "node": version("node", "--version"),
        "python": sys.version.split()[0],
        "swift": version("swift", "--version"),
    }
    if options.json:
        ours = servers["tallyd"]
        ratios = {
            f"ratio_to_{name}_{kind}": round(median(servers[name][field]) / median(ours[field]), 3)
            if field == "start_ms"
            else round(servers[name][field] / ours[field], 3)
            for name in ("node", "python")
            for kind, field in (("start", "start_ms"), ("memory", "resident_mib"))
        }
        print(to_json({**ratios, "conditions": facts, "servers": servers, "psql": connection}))
    else:
        report(servers, connection, facts)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"tools/bench start: {failure}")

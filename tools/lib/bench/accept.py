"""tools/bench accept: durable changes over HTTP, one a request, in batches and as a stream, beside pgbench inserting as many bytes."""

import functools
import json
import os
import sys
import time

import command
from cluster import Workbench, server_parser
from daemon import Daemon
from measure import Failure, median, run, say, table, version

APP, TYPE = "com.example.matchday", "Match"
ACTIVITIES = 10_000
CONNECTIONS, BATCH_CONNECTIONS, BATCH = 64, 8, 1_000
# How many streams there are at the same time, and how many lines all of them have.
STREAMS, LINES = {"stream": 1, "streams": 8}, 300_000
BODY = 400
BENCHES = os.path.join(os.path.dirname(__file__), "..", "..", "benches")

SCHEMA = {
    "type": "object",
    "properties": {
        "home_score": {"type": "integer", "minimum": 0},
        "away_score": {"type": "integer", "minimum": 0},
        "period": {"enum": ["first_half", "half_time", "second_half", "penalties", "ended"]},
        "last_event": {"type": "string", "maxLength": 500},
        "clock": {"type": "integer"},
    },
    "required": ["home_score", "away_score", "period", "last_event", "clock"],
    "additionalProperties": False,
}


class Bench:
    def __init__(self, options, folder, cluster, daemon, url):
        self.options, self.folder, self.cluster, self.daemon, self.url = options, folder, cluster, daemon, url
        self.seconds = 3 if options.quick else 10
        self.cpus = os.sched_getaffinity(0)
        self.runs = 0

    def prepare(self):
        """An app, a type with its schema, a key that may publish, and the activities, started in batches."""
        attributes = {"type": "object", "properties": {"home": {"type": "string"}, "away": {"type": "string"}}}
        self.key = self.daemon.register(
            APP, TYPE, {"attributes_schema": attributes, "content_state_schema": SCHEMA}, ["publish"]
        )
        state = {"home_score": 0, "away_score": 0, "period": "first_half", "last_event": "", "clock": 0}
        start = {"type": TYPE, "attributes": {"home": "Argentina", "away": "France"}, "content_state": state}
        for first in range(1, ACTIVITIES, BATCH):
            operations = [{"op": "start", "id": f"match-{n}", "body": start} for n in range(first, first + BATCH)]
            answer = self.daemon.call("POST", f"/v1/apps/{APP}/batch", {"operations": operations}, self.key)
            if any(result["status"] != 202 for result in answer["results"]):
                raise Failure(f"an activity was not started: {answer['results'][0]}")
        self.cluster.query("VACUUM (ANALYZE)", self.url)
        self.cluster.age()
        self.cluster.query(
            "DROP TABLE IF EXISTS inserts; CREATE TABLE inserts (id bigserial PRIMARY KEY, body json NOT NULL)"
        )

    def stored(self):
        changes, keys = self.cluster.query(
            "SELECT (SELECT count(*) FROM changes WHERE kind = 'update'), (SELECT count(*) FROM idempotency_keys)", self.url
        ).split("|")
        return int(changes), int(keys)

    def settled(self):
        """The same when what was still under way has been stored, too."""
        stored = None
        while stored != (stored := self.stored()):
            time.sleep(0.5)
        return stored

    def post(self, connections, size):
        """Posts for a while. Every change that was answered is stored once, with its key."""
        self.runs += 1
        before, cpu = self.stored(), (self.daemon.cpu, self.cluster.cpu)
        result = run(
            [
                "wrk", "-t", "1", "-c", str(connections), "-d", f"{self.seconds}s", "--timeout", "30s",
                "-s", os.path.join(BENCHES, "accept", "posts.lua"), self.daemon.url, "--",
                APP, self.key, str(self.runs), str(ACTIVITIES), str(size),
            ],
            self.cpus,
        )  # fmt: skip
        said = json.loads(result.output.splitlines()[-1])
        daemon, server = self.daemon.cpu - cpu[0], self.cluster.cpu - cpu[1]
        after = self.settled()
        answered = said["requests"] * max(size, 1)
        for stored in (after[0] - before[0], after[1] - before[1]):
            if said["refused"] or said["broken"] or not answered <= stored <= answered + connections * max(size, 1):
                raise Failure(f"{answered} changes were answered and {stored} stored: {said}")
        return said | {
            "changes_per_second": answered / said["seconds"],
            "daemon_us": daemon / answered * 1e6,
            "postgres_us": server / answered * 1e6,
            "wrk_us": result.cpu / answered * 1e6,
        }

    def stream(self, width):
        """Streams lines. Every change is answered, and stored once, with its key."""
        self.runs += 1
        lines = LINES // 10 if self.options.quick else LINES
        before, cpu = self.stored(), (self.daemon.cpu, self.cluster.cpu)
        result = run(
            [
                sys.executable, os.path.join(BENCHES, "accept", "stream.py"), self.daemon.url,
                APP, self.key, str(self.runs), str(ACTIVITIES), str(lines), str(width),
            ],
            self.cpus,
        )  # fmt: skip
        said = json.loads(result.output.splitlines()[-1])
        daemon, server = self.daemon.cpu - cpu[0], self.cluster.cpu - cpu[1]
        after = self.settled()
        for stored in (after[0] - before[0], after[1] - before[1]):
            if said["refused"] or said["broken"] or not lines == said["requests"] == stored:
                raise Failure(f"{lines} changes were sent and {stored} stored: {said}")
        return said | {
            "changes_per_second": lines / said["seconds"],
            "daemon_us": daemon / lines * 1e6,
            "postgres_us": server / lines * 1e6,
        }

    def pgbench(self):
        path = os.path.join(self.folder, "inserts.sql")
        with open(path, "w") as file:
            file.write(f"INSERT INTO inserts (body) VALUES (('\"' || repeat('x', {BODY - 2}) || '\"')::json);\n")
        cpu = self.cluster.cpu
        rate = self.cluster.pgbench(path, CONNECTIONS, self.seconds)
        return {"changes_per_second": rate, "postgres_us": (self.cluster.cpu - cpu) / (rate * self.seconds) * 1e6}

    def rounds(self):
        """Each round measures all; ratios are taken within it."""
        self.post(CONNECTIONS, 0)  # Statements are planned, and the daemon has seen every activity.
        rounds = []
        for number in range(self.options.rounds):
            steps = {
                "pgbench": self.pgbench,
                "single": lambda: self.post(CONNECTIONS, 0),
                "batch": lambda: self.post(BATCH_CONNECTIONS, BATCH),
                **{name: functools.partial(self.stream, width) for name, width in STREAMS.items()},
            }
            order = list(steps) if number % 2 == 0 else list(reversed(steps))
            rounds.append({name: steps[name]() for name in order})
            say(f"-- round {number + 1}: {summary(rounds[-1])}")
        return rounds


def summary(one):
    return ", ".join(f"{name} {one[name]['changes_per_second']:,.0f}/s" for name in one)


def ratio(rounds, name):
    return median([one[name]["changes_per_second"] / one["pgbench"]["changes_per_second"] for one in rounds])


def report(rounds, memory):
    """The lines of the table."""

    def of(name, field, form):
        values = [one[name][field] for one in rounds if field in one[name]]
        return format(median(values), form) if values else ""

    rows = [["", "changes/s", "ratio", "p50 ms", "p99 ms", "us tallyd", "us Postgres", "us wrk"]]
    for name, words in (
        ("pgbench", f"pgbench, {CONNECTIONS} clients"),
        ("single", f"one a request, {CONNECTIONS} connections"),
        ("batch", f"{BATCH:,} a batch, {BATCH_CONNECTIONS} connections"),
        *((name, f"one a line, {width} {name}") for name, width in STREAMS.items()),
    ):
        rows.append([
            words, of(name, "changes_per_second", ",.0f"), f"{ratio(rounds, name):.2f}", of(name, "p50_ms", ".1f"),
            of(name, "p99_ms", ".1f"), of(name, "daemon_us", ".1f"), of(name, "postgres_us", ".1f"), of(name, "wrk_us", ".1f"),
        ])  # fmt: skip
    return [*table(rows), f"\nmemory of tallyd at the end: {memory:.0f} MiB"]


def main():
    quick = "3 seconds each instead of 10: a rough look"
    options = server_parser("accept", __doc__, quick, rounds=(3, "rounds of all")).parse_args()
    with Workbench(options) as workbench:
        url = workbench.cluster.fresh()
        with Daemon(options.bin, url) as daemon:
            bench = Bench(options, workbench.folder, workbench.cluster, daemon, url)
            bench.prepare()
            rounds = bench.rounds()
            memory = daemon.resident_mib
    ratios = {
        "ratio_to_pgbench": round(ratio(rounds, "single"), 3),
        "ratio_to_pgbench_batch": round(ratio(rounds, "batch"), 3),
        **{f"ratio_to_pgbench_{name}": round(ratio(rounds, name), 3) for name in STREAMS},
    }
    workbench.report(
        ratios,
        {"memory_mib": round(memory, 1), "rounds": rounds},
        report(rounds, memory),
        wrk=version("wrk", "--version").split(" [")[0],
    )


if __name__ == "__main__":
    command.play("tools/bench accept", main)

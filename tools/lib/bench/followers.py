"""tools/bench followers: the time from the POST of a change until its last push has arrived, by the number of followers, beside
h2load, which sends as many requests to the same server. tools/plots draws what --json prints."""

import os
import re

import command
from clients import Clients, accepted
from cluster import Cluster, program, workplace
from credentials import make_certificate
from measure import Failure, commit, conditions, median, run, say, table, version
from sink import Sink
from stage import Stage

SIZES = [1_000, 10_000, 100_000, 1_000_000]
BODY, CONNECTIONS, STREAMS = 400, 4, 1000
UNITS = {"s": 1, "ms": 1e-3, "us": 1e-6}


class Bench:
    def __init__(self, options, folder, cluster, sink):
        self.place = (options.bin, folder, cluster, sink)
        self.clients = Clients(options.bin, folder, None, BODY, None, None)
        self.sink, self.cpus = sink, os.sched_getaffinity(0)

    def h2load(self, count):
        """Seconds by its own clock, which starts before its connections are open."""
        result = run(self.clients.h2load(self.sink, count, CONNECTIONS, STREAMS), self.cpus)
        found = re.search(r"finished in ([\d.]+)(s|ms|us)", result.output)
        if accepted(result) != count or not found:
            raise Failure("h2load lost requests")
        self.sink.counts()
        return float(found[1]) * UNITS[found[2]]

    def measure(self, count):
        """Passes of a whole daemon, between runs of h2load."""
        rounds = 9 if count <= 10_000 else 3
        with Stage(*self.place, count, "subscriptions") as stage:
            # Statements are planned, and long rings are divided.
            stage.passes(count, 1)
            before = [self.h2load(count) for _ in range(rounds)]
            _, firsts, lasts = stage.passes(count, rounds)
            after = [self.h2load(count) for _ in range(rounds)]
        said = {
            "rounds": rounds,
            "seconds": round(median(lasts), 4),
            "first_push_seconds": round(median(firsts), 4),
            "h2load_seconds": round(median(before + after), 4),
        }
        said["ratio_to_h2load"] = round(said["h2load_seconds"] / said["seconds"], 2)
        say(f"   {count:,}: {said}")
        return said


def main():
    options = command.parser("followers", __doc__, "no million").parse_args()
    facts = conditions()
    with workplace("bench") as folder:
        make_certificate(folder)
        sink = Sink(os.path.join(options.bin, "bench-sink"), folder, os.sched_getaffinity(0), BODY, streams=STREAMS)
        with Cluster(options.bin, folder) as cluster, sink:
            bench = Bench(options, folder, cluster, sink)
            found = {str(count): bench.measure(count) for count in (SIZES[:-1] if options.quick else SIZES)}
            cluster.drop()
    facts |= {
        "load_after": round(os.getloadavg()[0], 2),
        "commit": commit(),
        "postgres": version(program("postgres"), "--version"),
        "h2load": version("h2load", "--version"),
    }
    rows = [["followers", "first push", "last push", "h2load", "ratio"]]
    for count, one in found.items():
        times = [f"{one[name] * 1000:,.0f} ms" for name in ("first_push_seconds", "seconds", "h2load_seconds")]
        rows.append([f"{int(count):,}", *times, f"{one['ratio_to_h2load']:.2f}"])
    command.report(options, {}, {"followers": found}, facts, table(rows))


if __name__ == "__main__":
    command.play("tools/bench followers", main)

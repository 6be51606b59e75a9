"""tools/bench transport: what one push costs the client, against h2load doing the same to the same server."""

import argparse
import json
import os
import tempfile

import command
from clients import Clients, accepted
from credentials import make_certificate
from measure import Failure, busy, conditions, median, run, say, table, version
from sink import Sink

ALLOWED = sorted(os.sched_getaffinity(0))
CLIENT_CPU, SINK_CPU = set(ALLOWED[:1]), set(ALLOWED[1:2])
BODY = 400
CHUNK = 5000


def under_way(streams, chunk):
    """How many chunks are sent at a time: enough that the streams are never short of pushes."""
    return max(4, 2 + 2 * streams // chunk)


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.clients = Clients(options.bin, folder, options.aioapns, BODY, CHUNK, under_way)
        self.scale = 8 if options.quick else 1
        self.rows = [["", "requests/s", "us CPU", "us sink", "sink busy", "foreign", "vs h2load"]]

    def sink(self, **settings):
        return Sink(os.path.join(self.options.bin, "bench-sink"), self.folder, SINK_CPU, BODY, **settings)

    def measure(self, sink, words, count, cpus=CLIENT_CPU):
        """Runs a client, proves that every push was counted by both ends, and says what it has cost."""
        sink.counts()
        sink_before, busy_before = sink.cpu, busy(CLIENT_CPU | SINK_CPU)
        result = run(words, cpus)
        sink_cpu = sink.cpu - sink_before
        foreign = busy(CLIENT_CPU | SINK_CPU) - busy_before - sink_cpu - result.cpu
        counts = sink.counts()
        if counts["requests"] != count or accepted(result) != count - counts["gone"]:
            raise Failure(f"{count} pushes were to be sent: {counts}, accepted {accepted(result)}")
        if counts["bad"] > 0:
            raise Failure(f"{counts['bad']} requests were not what a push must be: {counts['fault']}")
        return {
            "requests": count,
            "requests_per_second": round(count / result.seconds),
            "cpu_us": result.cpu / count * 1e6,
            "sink_us": sink_cpu / count * 1e6,
            "sink_busy": sink_cpu / result.seconds,
            "foreign_cpus": max(0, foreign) / result.seconds,
            "connections": counts["connections"],
            "seconds": result.seconds,
            "output": result.output,
        }

    def row(self, name, runs, ratio=None):
        def of(field):
            return median([one[field] for one in runs])

        self.rows.append([
            name, f"{of('requests_per_second'):,.0f}", f"{of('cpu_us'):.2f}", f"{of('sink_us'):.2f}",
            f"{of('sink_busy'):.0%}", f"{of('foreign_cpus'):.2f}", f"{ratio:.2f}" if ratio else "",
        ])  # fmt: skip

    def strict(self):
        """Both ends of the comparison once through a sink that decodes and checks everything."""
        count = 20_000
        with self.sink(streams=500, strict=True) as sink:
            self.measure(sink, self.clients.tally(sink, count, 1, 500), count)
            self.measure(sink, self.clients.h2load(sink, count, 1, 500), count)
        return {"requests": 2 * count, "bad": 0}

    def rounds(self, name, connections, streams):
        """Alternates with h2load and with libnghttp2's session; the ratios are taken within each round."""
        count = 800_000 // self.scale
        tally, nghttp2, h2load, ratios, nghttp2_ratios = [], [], [], [], []
        with self.sink(streams=streams) as sink:
            ours = self.clients.tally(sink, count, connections, streams)
            library = self.clients.tally(sink, count, connections, streams, http2="nghttp2")
            theirs = self.clients.h2load(sink, count, connections, streams)
            for number in range(self.options.rounds):
                order = [(ours, tally), (theirs, h2load), (library, nghttp2)]
                for words, runs in order if number % 2 else reversed(order):
                    runs.append(self.measure(sink, words, count))
                ratios.append(h2load[-1]["cpu_us"] / tally[-1]["cpu_us"])
                nghttp2_ratios.append(h2load[-1]["cpu_us"] / nghttp2[-1]["cpu_us"])
        ratio = median(ratios)
        self.row(f"h2load {name}", h2load, 1)
        self.row(f"tally {name}", tally, ratio)
        self.row(f"tally {name}, libnghttp2", nghttp2, median(nghttp2_ratios))
        return {
            "ratio": round(ratio, 3),
            "ratios": [round(one, 3) for one in ratios],
            "ratio_with_nghttp2": round(median(nghttp2_ratios), 3),
            "tally": [without_output(one) for one in tally],
            "tally_with_nghttp2": [without_output(one) for one in nghttp2],
            "h2load": [without_output(one) for one in h2load],
        }

    def gone(self):
        """One answer in a thousand is a 410, so that exceptions are made and counted."""
        count = 400_000 // self.scale
        with self.sink(streams=500, gone_every=1000) as sink:
            result = self.measure(sink, self.clients.tally(sink, count, 1, 500), count)
        exceptions = json.loads(result["output"])["exceptions"]
        if exceptions != {"token_dead": count // 1000}:
            raise Failure(f"one push in 1000 was answered with 410, and the client reports {exceptions}")
        self.row("tally, 1 in 1000 answered 410", [result])
        return without_output(result)

    def delayed(self):
        """Answers after 25 ms: streams x connections / round trip is the ceiling, until the CPU is."""
        results = {}
        with self.sink(streams=1000, delay_ms=25) as sink:
            count = 320_000 // self.scale
            one = self.measure(sink, self.clients.tally(sink, count, 1, 1000), count)
            theirs = self.measure(sink, self.clients.h2load(sink, count, 1, 1000), count)
            self.row("h2load 1 x 1000, 25 ms", [theirs])
            self.row("tally 1 x 1000, 25 ms", [one])
            results["one_connection"] = without_output(one)
            results["h2load_one_connection"] = without_output(theirs)
            for limit in (8, 16):
                count = 2_400_000 // self.scale
                grown = self.measure(sink, self.clients.tally(sink, count, limit, 1000), count)
                self.row(f"tally, pool up to {limit}: {grown['connections']} x 1000, 25 ms", [grown])
                results[f"pool_up_to_{limit}"] = without_output(grown)
        return results

    def singles(self):
        """One push at a time on an idle connection."""
        count = 10_000 // self.scale
        with self.sink(streams=1000) as sink:
            words = self.clients.tally_singles(sink, count)
            result = self.measure(sink, words, count, cpus=set(ALLOWED) - SINK_CPU)
        return {key: round(value, 1) for key, value in json.loads(result["output"]).items() if key != "accepted"}

    def memory(self):
        """The memory in use while two million pushes go by."""
        count = 2_000_000
        with self.sink(streams=500) as sink:
            result = self.measure(sink, self.clients.tally(sink, count, 1, 500), count)
        marks = json.loads(result["output"])["memory"]
        kib = {int(pushes): marks[pushes] for pushes in sorted(marks, key=int)}
        return {"kib_after": kib, "growth_kib": kib[2_000_000] - kib[100_000]}

    def peers(self):
        """Other people's clients, once; the strict sink, because aioapns needs its own id in the answer."""
        count = 40_000 // self.scale
        results = {}
        with self.sink(streams=500, strict=True) as sink:
            known = {
                "tally": lambda: self.clients.tally(sink, count, 1, 500),
                "node http2": lambda: self.clients.node(sink, count, 500),
                "aioapns": lambda: self.clients.aioapns(sink, count, 500),
            }
            for name, words in known.items():
                try:
                    result = self.measure(sink, words(), count)
                except (Failure, OSError) as failure:
                    results[name] = {"not_measured": str(failure)}
                    self.rows.append([f"{name}: not measured, {failure}"] + [""] * 6)
                    continue
                results[name] = without_output(result)
                self.row(f"{name} 1 x 500, strict sink", [result])
        return results


def without_output(result):
    return {
        key: round(value, 3) if isinstance(value, float) else value
        for key, value in result.items()
        if key != "output"
    }


def lines(rows, parts):
    yield from table(rows)
    singles = parts["single_push_us"]
    quantiles = ", ".join(f"{name} {singles[name]:.0f} us" for name in ("p50", "p90", "p99"))
    yield f"\none push at a time, call to answer: {quantiles}"
    if "memory" in parts:
        marks = ", ".join(f"{kib / 1024:.1f} MiB after {pushes:,}" for pushes, kib in parts["memory"]["kib_after"].items())
        yield f"memory: {marks}"
    yield f"strict sink: {parts['strict']['requests']:,} requests, {parts['strict']['bad']} bad"


def main():
    quick = "an eighth of the pushes: a rough look"
    parser = command.parser("transport", __doc__, quick, rounds=(5, "rounds against h2load"))
    parser.add_argument("--aioapns", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if len(ALLOWED) < 2:
        parser.error("the client and the server need a CPU each, and there is one in all")
    facts = conditions()
    with tempfile.TemporaryDirectory(prefix="tally-bench-") as folder:
        make_certificate(folder)
        bench = Bench(options, folder)
        steps = {
            "strict": bench.strict,
            "1x500": lambda: bench.rounds("1 x 500", 1, 500),
            "4x1000": lambda: bench.rounds("4 x 1000", 4, 1000),
            "gone": bench.gone,
            "delay_25_ms": bench.delayed,
            "single_push_us": bench.singles,
            "peers": bench.peers,
        }
        if not options.quick:
            steps["memory"] = bench.memory
        parts = {}
        for name, step in steps.items():
            say(f"-- {name}")
            parts[name] = step()
    facts |= {
        "load_after": round(os.getloadavg()[0], 2),
        "client on CPU": ALLOWED[0],
        "sink on CPU": ALLOWED[1],
        "rounds": options.rounds,
        "h2load": version("h2load", "--version"),
        "openssl": version("openssl", "version"),
        "swift": version("swift", "--version"),
        "node": version("node", "--version"),
    }
    ratios = {
        "ratio_to_h2load": parts["1x500"]["ratio"],
        "ratio_to_h2load_4x1000": parts["4x1000"]["ratio"],
    }
    command.report(options, ratios, parts, facts, lines(bench.rows, parts))


if __name__ == "__main__":
    command.play("tools/bench transport", main)

"""tools/bench orchestrator: what accepted changes cost until phones have them, database and all."""

import json
import os

import command
from clients import Clients, accepted
from cluster import Workbench, server_parser
from credentials import make_certificate
from measure import Failure, median, run, say, table, version
from sink import Sink

BODY = 400
STREAMS = 1000
CALLERS, MORE_CALLERS = 64, 256
BATCH, BATCH_CALLERS = 1000, 8


class Bench:
    def __init__(self, options, folder, cluster, sink):
        self.options, self.folder, self.cluster, self.sink = options, folder, cluster, sink
        self.scale = 10 if options.quick else 1
        self.clients = Clients(options.bin, folder, None, BODY, None, None)
        self.cpus = os.sched_getaffinity(0)
        self.rows = [["", "Tally", "beside it", "ratio"]]

    def figure(self, mode, **settings):
        """One process of the daemon on a fresh database; what it says, and what the whole of it has cost, preparations included."""
        words = [os.path.join(self.options.bin, "bench-orchestrator"), mode, "--port", str(self.sink.port)]
        words += ["--ca", os.path.join(self.folder, "ca.pem"), "--database", self.cluster.fresh()]
        for name, value in settings.items():
            words += ["--" + name.replace("_", "-"), str(value)]
        load = os.getloadavg()[0]
        self.sink.counts()
        result = run(words, self.cpus, deadline=900)
        said = json.loads(result.output)
        counts = self.sink.counts()
        return said | {
            "process_cpu_seconds": round(result.cpu, 2),
            "process_peak_mib": round(result.peak_kib / 1024, 1),
            "connections_to_sink": counts["connections"],
            "requests_at_sink": counts["requests"],
            "load": [round(load, 2), round(os.getloadavg()[0], 2)],
        }

    def prove(self, result, pushes, started=0):
        """Every push was accepted, and the sink has seen each of them once."""
        if result["accepted"] != pushes or result["requests_at_sink"] != pushes + started:
            raise Failure(f"{pushes} pushes were to be sent: {result}")

    def pgbench(self, name, sql, clients):
        path = os.path.join(self.folder, name + ".sql")
        with open(path, "w") as file:
            file.write(sql)
        return self.cluster.pgbench(path, clients, 3 if self.options.quick else 10)

    def h2load(self, count):
        result = run(self.clients.h2load(self.sink, count, 4, STREAMS), self.cpus)
        if accepted(result) != count:
            raise Failure("h2load lost requests")
        return {"requests_per_second": count / result.seconds, "seconds": result.seconds, "cpu_seconds": result.cpu}

    def one_to_all(self):
        """One change to a million destinations, between two runs of h2load."""
        count = 1_000_000 // self.scale
        anchors = [self.h2load(count)]
        result = self.figure("fan-out", activities=1, destinations=count, rounds=1)
        self.prove(result, count)
        anchors.append(self.h2load(count))
        rate = count / result["seconds"][0]
        anchor = median([one["requests_per_second"] for one in anchors])
        rows = sum(result["rowsWritten"].values())
        self.rows.append([f"1 change to {count:,}: pushes/s", f"{rate:,.0f}", f"h2load {anchor:,.0f}", f"{rate / anchor:.2f}"])
        self.rows.append(["   rows written", f"{rows:,}", "", ""])
        self.rows.append(["   peak memory", f"{result['process_peak_mib']:.0f} MiB", "", ""])
        return result | {
            "pushes_per_second": round(rate), "rows_written": rows, "h2load": anchors, "ratio_to_h2load": round(rate / anchor, 3)
        }  # fmt: skip

    def single_updates(self):
        """As many activities as updates, between two runs of pgbench with rows of as many bytes."""
        count = 10_000 // self.scale
        self.cluster.query("DROP TABLE IF EXISTS inserts; CREATE TABLE inserts (id bigserial PRIMARY KEY, body json NOT NULL)")
        script = f"INSERT INTO inserts (body) VALUES (('\"' || repeat('x', {BODY - 2}) || '\"')::json);\n"
        anchors = [self.pgbench("inserts", script, 16)]
        ways = {
            "single": {"callers": CALLERS, "batch": 1},
            "more_callers": {"callers": MORE_CALLERS, "batch": 1},
            "batched": {"callers": BATCH_CALLERS, "batch": BATCH // self.scale},
        }
        results = {}
        for name, way in ways.items():
            results[name] = self.figure("singles", activities=count, **way)
            self.prove(results[name], count, started=results[name]["before"])
        anchors.append(self.pgbench("inserts", script, 16))
        anchor = median(anchors)
        for name, result in results.items():
            rate = count / result["seconds"]
            result |= {"updates_per_second": round(rate), "ratio_to_pgbench": round(rate / anchor, 3)}
            batch = ways[name]["batch"]
            words = f"{result['callers']} callers" + (f", batches of {batch:,}" if batch > 1 else "")
            what = f"{count:,} single updates, {words}: updates/s" if name == "single" else f"   {words}"
            self.rows.append([what, f"{rate:,.0f}", f"pgbench {anchor:,.0f}", f"{rate / anchor:.2f}"])
            results[name] = result
        return results.pop("single") | {
            "pgbench": anchors,
            "ratio_to_pgbench_more_callers": results["more_callers"]["ratio_to_pgbench"],
            "ratio_to_pgbench_batched": results["batched"]["ratio_to_pgbench"],
            **results,
        }

    def latency(self):
        result = self.figure("latency", rate=500, seconds=20 // (4 if self.options.quick else 1))
        push = result["push"]
        self.rows.append(
            ["500 updates/s, post to answered push", f"p50 {push['p50']:.1f} ms", "", f"p99 {push['p99']:.1f} ms"]
        )
        first = result["pushAtFirst"]
        self.rows.append(["   of the two seconds before", f"p50 {first['p50']:.1f} ms", "", f"p99 {first['p99']:.1f} ms"])
        return result

    def registrations(self):
        count = 20_000 // self.scale
        self.cluster.query(
            "DROP TABLE IF EXISTS tokens; CREATE TABLE tokens (id bigint PRIMARY KEY, token bytea NOT NULL, at timestamptz)"
        )
        script = (
            "\\set id random(1, 1000000)\n"
            "INSERT INTO tokens VALUES (:id, decode(repeat(lpad(to_hex(:id::bigint), 16, '0'), 10), 'hex'), clock_timestamp())\n"
            "ON CONFLICT (id) DO UPDATE SET token = EXCLUDED.token, at = EXCLUDED.at;\n"
        )
        anchors = [self.pgbench("upserts", script, CALLERS)]
        result = self.figure("registrations", count=count, callers=CALLERS, batch=1)
        self.prove(result, count)
        batched = self.figure("registrations", count=count, callers=BATCH_CALLERS, batch=BATCH // self.scale)
        self.prove(batched, count)
        anchors.append(self.pgbench("upserts", script, CALLERS))
        rate, anchor = count / result["seconds"], median(anchors)
        self.rows.append(
            [f"{count:,} registrations: per second", f"{rate:,.0f}", f"pgbench {anchor:,.0f}", f"{rate / anchor:.2f}"]
        )
        self.rows.append(["   the last catch-up after", f"{result['secondsToCatchUp']:.1f} s", f"{result['seconds']:.1f} s", ""])
        batch_rate = count / batched["seconds"]
        self.rows.append(
            [f"   in batches of {BATCH // self.scale}", f"{batch_rate:,.0f}", f"pgbench {anchor:,.0f}", f"{batch_rate / anchor:.2f}"]
        )
        return result | {
            "registrations_per_second": round(rate),
            "pgbench": anchors,
            "ratio_to_pgbench_upserts": round(rate / anchor, 3),
            "batched": batched | {"registrations_per_second": round(batch_rate)},
            "ratio_to_pgbench_upserts_batched": round(batch_rate / anchor, 3),
        }

    def schedules(self):
        count = 100_000 // self.scale
        result = self.figure("schedules", count=count)
        self.prove(result, count)
        lateness = result["lateness"]
        self.rows.append(
            [
                f"{count:,} schedules due at once", f"all after {result['secondsToFireAll']:.1f} s",
                f"p50 {lateness['p50'] / 1000:.1f} s", f"p99 {lateness['p99'] / 1000:.1f} s",
            ]
        )  # fmt: skip
        return result

    def growth(self):
        """What a push costs by the number of destinations: of one change alone, and when as many changes are posted together
        as make up the largest number of pushes."""
        sizes = [1_000, 10_000, 100_000] + ([] if self.options.quick else [1_000_000])
        found = {}
        for count in sizes:
            # A few pushes take no time, so there are several changes.
            alone = self.figure("fan-out", activities=1, destinations=count, rounds=9 if count <= 10_000 else 3)
            together = self.figure("fan-out", activities=sizes[-1] // count, destinations=count, rounds=3)
            whole = median(alone["seconds"]) / count * 1e6
            sending = median([a - b for a, b in zip(alone["seconds"], alone["secondsToFirstPush"])]) / count * 1e6
            in_all = median(together["seconds"]) / sizes[-1] * 1e6
            found[count] = {
                "us_per_push": round(whole, 2), "us_per_push_from_first": round(sending, 2),
                "us_per_push_together": round(in_all, 2), "alone": alone, "together": together,
            }  # fmt: skip
            self.rows.append([f"{count:,} destinations: us per push", f"{whole:.1f}", f"from the first {sending:.1f}", ""])
            self.rows.append([f"   {sizes[-1] // count:,} such changes together", f"{in_all:.1f}", "", ""])
        spread = {
            name: round(max(one[name] for one in found.values()) / min(one[name] for one in found.values()), 2)
            for name in ("us_per_push_from_first", "us_per_push_together")
        }
        return {"by_destinations": found, "spread": spread}


def main():
    arguments = server_parser("orchestrator", __doc__, "a tenth of everything: a rough look", cpus=2)
    arguments.add_argument("--only", action="append", help="a figure by its name; may be repeated")
    options = arguments.parse_args()
    with Workbench(options) as workbench:
        make_certificate(workbench.folder)
        workbench.cluster.age()
        program = os.path.join(options.bin, "bench-sink")
        with Sink(program, workbench.folder, set(workbench.allowed), BODY, streams=STREAMS) as sink:
            bench = Bench(options, workbench.folder, workbench.cluster, sink)
            steps = {
                "one_to_all": bench.one_to_all,
                "single_updates": bench.single_updates,
                "latency": bench.latency,
                "registrations": bench.registrations,
                "schedules": bench.schedules,
                "growth": bench.growth,
            }
            unknown = set(options.only or []) - set(steps)
            if unknown:
                arguments.error(f"no such figure: {', '.join(sorted(unknown))}; there are {', '.join(steps)}")
            parts = {}
            for name, step in steps.items():
                if options.only and name not in options.only:
                    continue
                say(f"-- {name}")
                parts[name] = step()
    ratios = {name: value for part in parts.values() for name, value in part.items() if name.startswith("ratio_to_")}
    workbench.report(ratios, parts, table(bench.rows), h2load=version("h2load", "--version"))


if __name__ == "__main__":
    command.play("tools/bench orchestrator", main)

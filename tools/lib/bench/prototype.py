"""tools/bench prototype: the prototype of the next engine, beside today's engine and pgbench, in one run."""

import json
import os
import re

import command
from cluster import Workbench, server_parser
from credentials import make_certificate
from measure import Failure, median, run, say, table
from orchestrator import BATCH, BATCH_CALLERS, BODY, CALLERS, MORE_CALLERS, STREAMS, Bench
from sink import Sink


class Prototype(Bench):
    def ours(self, mode, **settings):
        """One process of the prototype on a fresh database; what it says, and the CPU of it and of Postgres."""
        words = [os.path.join(self.options.bin, "bench-prototype"), mode, "--port", str(self.sink.port)]
        words += ["--ca", os.path.join(self.folder, "ca.pem"), "--database", self.cluster.fresh()]
        for name, value in settings.items():
            words += ["--" + name, str(value)]
        self.sink.counts()
        postgres = self.cluster.cpu
        result = run(words, self.cpus, deadline=900)
        counts = self.sink.counts()
        # Sessions tell what they have written when they end.
        tables = self.cluster.query(
            "SELECT relname, n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_user_tables WHERE schemaname = 'prototype' ORDER BY 1",
            words[words.index("--database") + 1],
        )
        # The other daemon of a takeover speaks first.
        return json.loads(result.output.splitlines()[-1]) | {
            "rows_by_table": {line.split("|")[0]: [int(n) for n in line.split("|")[1:]] for line in tables.splitlines()},
            "process_cpu_seconds": round(result.cpu, 2),
            "postgres_cpu_seconds": round(self.cluster.cpu - postgres, 2),
            "process_peak_mib": round(result.peak_kib / 1024, 1),
            "requests_at_sink": counts["requests"],
        }

    def anchor(self):
        self.cluster.query("DROP TABLE IF EXISTS inserts; CREATE TABLE inserts (id bigserial PRIMARY KEY, body json NOT NULL)")
        script = f"INSERT INTO inserts (body) VALUES (('\"' || repeat('x', {BODY - 2}) || '\"')::json);\n"
        return self.pgbench("inserts", script, 16)

    def updates(self, name, updates, phones=1, audience="cards", memory="warm", callers=CALLERS, batch=1):
        result = self.ours("updates", activities=updates, phones=phones, audience=audience, memory=memory, callers=callers, batch=batch)
        if result["accepted"] != result["pushes"] or result["requests_at_sink"] != result["pushes"] + result["before"]:
            raise Failure(f"every push was to be sent once: {result}")
        rate = updates / result["seconds"]
        tables, written = result["rows_by_table"], updates + result["before"] / phones
        # The preparation inserts each activity and its start.
        rows = (tables["changes"][0] - tables["activities"][0] + tables["activities"][1] + tables["cards"][1]) / written
        note = f"{result['statements'] / updates:.3f} statements, {rows:.2f} rows"
        self.rows.append([name, f"{rate:,.0f}", "", note])
        say(f"{name}: {rate:,.0f}/s, {note}")
        return result | {"per_second": round(rate)}

    def singles(self):
        """Both engines between two runs of pgbench."""
        count = 10_000 // self.scale
        ways = {
            "64 callers": {"callers": CALLERS, "batch": 1},
            "256 callers": {"callers": MORE_CALLERS, "batch": 1},
            "batches of 1,000": {"callers": BATCH_CALLERS, "batch": BATCH // self.scale},
        }
        anchors, found = [self.anchor()], {}
        for name, way in ways.items():
            found[name] = self.updates(f"single updates, {name}", count, **way)
            today = self.figure("singles", activities=count, **way)
            self.prove(today, count, started=today["before"])
            found[name]["today"] = today | {"per_second": round(count / today["seconds"])}
            anchors.append(self.anchor())
        anchor = median(anchors)
        found["cold"] = self.updates("single updates, 64 callers, nothing in memory", count, memory="cold")
        for name in ways:
            one = found[name]
            ratios = [rate / anchor for rate in (one["per_second"], one["today"]["per_second"])]
            one |= {"ratio_to_pgbench": round(ratios[0], 3), "today_ratio_to_pgbench": round(ratios[1], 3)}
            self.rows.append([f"   {name}: ratio to pgbench ({anchor:,.0f})", f"{ratios[0]:.2f}", f"{ratios[1]:.2f}", ""])
        return found | {"pgbench": anchors}

    def broadcasts(self):
        return self.updates("broadcasts, 64 callers", 10_000 // self.scale, audience="channel")

    def phones(self):
        result = self.updates("changes to 64 phones, 64 callers", 5_000 // self.scale, phones=64)
        self.rows.append(["   pushes/s", f"{result['pushes'] / result['seconds']:,.0f}", "", ""])
        return result

    def fan_out(self):
        count = 1_000_000 // self.scale
        before = self.figure("fan-out", activities=1, destinations=count, rounds=1)
        ours = self.ours("fan-out", destinations=count, rounds=1)
        if ours["accepted"] != count or ours["requests_at_sink"] != count:
            raise Failure(f"every push was to be sent once: {ours}")
        rates = [count / ours["seconds"], count / before["seconds"][0]]
        self.rows.append([f"1 change to {count:,} phones: pushes/s", f"{rates[0]:,.0f}", f"{rates[1]:,.0f}", ""])
        return {"prototype": ours, "today": before}

    def takeover(self):
        found = {}
        for signal in ("kill", "term"):
            result = self.ours("takeover", rate=200, seconds=12, signal=signal)
            if result["not_sent"] != 0:
                raise Failure(f"changes were lost: {result}")
            found[signal] = result
            self.rows.append([f"takeover after SIG{signal.upper()}", f"{result['seconds_until_all_owned']:.2f} s", "", ""])
        return found

    def statements(self):
        """Statements of both engines for single updates, as the server logs them."""
        found = {}
        for name, play in {
            "prototype": lambda: self.ours(
                "updates", activities=1000, phones=1, audience="cards", memory="warm", callers=CALLERS, batch=1
            ),
            "today": lambda: self.figure("singles", activities=1000, callers=CALLERS, batch=1),
        }.items():
            self.cluster.configure({"log_statement": "all"})
            before = os.path.getsize(self.cluster.log)
            play()
            self.cluster.configure({"log_statement": "none"})
            with open(self.cluster.log, errors="replace") as file:
                file.seek(before)
                # The preparation ends with a checkpoint.
                said = file.read().rpartition("statement: CHECKPOINT")[2]
                found[name] = len(re.findall(r"LOG:  (?:execute|statement)", said)) / 1200
            self.rows.append([f"statements per single update, {name}", f"{found[name]:.2f}", "", ""])
        return found


def main():
    arguments = server_parser("prototype", __doc__, "a tenth of everything: a rough look", cpus=2)
    arguments.add_argument("--only", action="append", help="a figure by its name; may be repeated")
    options = arguments.parse_args()
    with Workbench(options) as workbench:
        make_certificate(workbench.folder)
        workbench.cluster.age()
        program = os.path.join(options.bin, "bench-sink")
        with Sink(program, workbench.folder, set(workbench.allowed), BODY, streams=STREAMS) as sink:
            bench = Prototype(options, workbench.folder, workbench.cluster, sink)
            bench.rows = [["", "prototype", "today", ""]]
            steps = {
                "singles": bench.singles,
                "broadcasts": bench.broadcasts,
                "phones": bench.phones,
                "fan_out": bench.fan_out,
                "takeover": bench.takeover,
                "statements": bench.statements,
            }
            parts = {}
            for name, step in steps.items():
                if options.only and name not in options.only:
                    continue
                say(f"-- {name}")
                parts[name] = step()
    ratios = {
        f"ratio_to_pgbench_{name.replace(' ', '_')}": one["ratio_to_pgbench"]
        for name, one in parts.get("singles", {}).items()
        if isinstance(one, dict) and "ratio_to_pgbench" in one
    }
    workbench.report(ratios, parts, table(bench.rows))


if __name__ == "__main__":
    command.play("tools/bench prototype", main)

"""tools/bench without a name: the benches of all parts, and one table of what they found."""

import argparse
import json
import os
import re
import subprocess
import sys
import time

import command
from measure import Failure, commit, conditions, median, say, to_json
from page import markdown_rows, markdown_table, replace_between, text_between
from ratios import record

ROOT = os.path.join(os.path.dirname(__file__), "..", "..", "..")
QUICK = {"schema": ["--rounds", "2", "--seconds", "0.5"]}


def ms(seconds):
    return f"{seconds * 1000:,.0f} ms"


def transport(said):
    rows = []
    for name, words in (("1x500", "1 connection × 500 streams"), ("4x1000", "4 × 1,000")):
        ours, theirs = (median([one["cpu_us"] for one in said[name][who]]) for who in ("tally", "h2load"))
        rows.append([f"a push, {words}: CPU of the client", f"{ours:.2f} µs", f"h2load {theirs:.2f} µs", said[name]["ratio"]])
    single = said["single_push_us"]
    rows.append(["one push at a time, call to answer", f"p50 {single['p50']:.0f} µs, p99 {single['p99']:.0f} µs", "", None])
    return rows


def schema(said):
    rows = []
    for one in said["documents"].values():
        peers = {"jsonschema-rs", "ajv"} & set(one["ratio_to"])
        for peer in sorted(peers):
            ours, theirs = one["cpu_us"]["tally"], one["cpu_us"][peer]
            rows.append(
                [f"validating {one['bytes']:,} bytes: CPU", f"{ours:.2f} µs", f"{peer} {theirs:.2f} µs", one["ratio_to"][peer]]
            )
    return rows


def orchestrator(said):
    whole, single, latency = said["one_to_all"], said["single_updates"], said["latency"]["push"]
    registered, batched = said["registrations"], said["registrations"]["batched"]
    inserts = f"pgbench {median(single['pgbench']):,.0f} inserts/s"
    h2load = median([one["requests_per_second"] for one in whole["h2load"]])
    upserts = f"pgbench {median(registered['pgbench']):,.0f} upserts/s"
    return [
        [
            f"1 change to {whole['destinations']:,} update tokens", f"{whole['pushes_per_second']:,} pushes/s",
            f"h2load {h2load:,.0f}/s", whole["ratio_to_h2load"],
        ],
        ["   rows written; peak memory", f"{whole['rows_written']:,}; {whole['process_peak_mib']:.0f} MiB", "", None],
        *(
            [words, f"{one['updates_per_second']:,} updates/s", inserts, one["ratio_to_pgbench"]]
            for words, one in [
                (f"{single['updates']:,} activities, an update each", single),
                (f"   {single['more_callers']['callers']} callers", single["more_callers"]),
                ("   in batches", single["batched"]),
            ]
        ),
        ["500 updates/s, post to answered push", f"p50 {latency['p50']:.0f} ms, p99 {latency['p99']:.0f} ms", "", None],
        ["registrations with catch-up", f"{registered['registrations_per_second']:,}/s", upserts, registered["ratio_to_pgbench_upserts"]],
        ["   in batches", f"{batched['registrations_per_second']:,}/s", upserts, registered["ratio_to_pgbench_upserts_batched"]],
        [f"{said['schedules']['schedules']:,} schedules due at once", f"all pushed after {said['schedules']['secondsToPushAll']:.1f} s", "", None],
    ]  # fmt: skip


def accept(said):
    def of(name, field="changes_per_second"):
        return median([one[name][field] for one in said["rounds"]])

    beside = f"pgbench {of('pgbench'):,.0f} inserts/s"
    return [
        ["accepting over HTTP, one a request", f"{of('single'):,.0f} changes/s", beside, said["ratio_to_pgbench"]],
        ["   in batches of 1,000", f"{of('batch'):,.0f} changes/s", beside, said["ratio_to_pgbench_batch"]],
        ["   by one stream", f"{of('stream'):,.0f} changes/s", beside, said["ratio_to_pgbench_stream"]],
        ["   by eight streams", f"{of('streams'):,.0f} changes/s", beside, said["ratio_to_pgbench_streams"]],
    ]


def start(said):
    servers = said["servers"]
    ours, theirs = servers["tallyd"], servers["node"]
    first, other = (median(one["start_ms"]) / 1000 for one in (ours, theirs))
    return [
        ["`tallyd serve`, from exec to ready", ms(first), f"Node's http server {ms(other)}", said["ratio_to_node_start"]],
        [
            "memory at rest", f"{ours['resident_mib']:.1f} MiB", f"Node's http server {theirs['resident_mib']:.1f} MiB",
            said["ratio_to_node_memory"],
        ],
        ["CPU at rest", f"{ours['cpu_ms_per_second'] / 10:.2f} %", f"Node {theirs['cpu_ms_per_second'] / 10:.2f} %", None],
    ]  # fmt: skip


PARTS = {"transport": transport, "schema": schema, "orchestrator": orchestrator, "accept": accept, "start": start}


def measure(name, number, quick):
    """What one bench says; its own talk goes to standard error. None if it failed."""
    say(f"\n==== {name} ({number} of {len(PARTS)}), {time.strftime('%H:%M')}")
    options = QUICK.get(name, ["--quick"]) if quick else []
    bench = subprocess.Popen(
        [os.path.join(ROOT, "tools", "bench"), name, "--json", *options], stdout=subprocess.PIPE, text=True
    )
    try:
        output, _ = bench.communicate()
    except BaseException:
        # It ends what it has started before it ends itself.
        bench.terminate()
        bench.wait()
        raise
    return json.loads(output) if bench.returncode == 0 else None


def rows_of_parts(text):
    """The lines of each part in a table that a page has."""
    parts, lines = {}, None
    for line in text.splitlines():
        if found := re.match(r"\| \*\*(\w+)\*\* \|", line):
            lines = parts.setdefault(found[1], [])
        if not line.startswith("|"):
            lines = None
        if lines is not None:
            lines.append(line)
    return parts


def page(results, facts, commit, before=""):
    """The table as Markdown, with its conditions. What failed keeps the lines that it has in the text of before."""
    earlier, kept = rows_of_parts(before), []
    lines = list(markdown_table([["", "Tally", "beside it", "ratio"]], left=1))
    for name, said in results.items():
        rows = [[f"**{name}**", "not measured", "", ""]]
        if said is not None:
            load = said["conditions"]
            rows[0][1] = f"{load['date']}, commit {commit}, load {load['load_before']} to {load['load_after']}"
            for what, ours, beside, ratio in PARTS[name](said):
                rows.append([what, ours, beside, f"**{ratio:.2f}**" if ratio is not None else ""])
        elif name in earlier:
            kept.append(name)
            lines += earlier[name]
            continue
        lines += markdown_rows(rows)
    words = (
        f"{facts['cpu']}, {facts['cpus']} CPUs, kernel {facts['kernel']}. Each part shows the load average before and after it."
        " The figures include what others did on the machine."
    )
    if kept:
        words += f" Not measured this time, and as in an earlier run: {', '.join(kept)}."
    return "\n".join(lines) + "\n\n" + words


def main():
    parser = argparse.ArgumentParser(prog="tools/bench", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one object with all figures")
    parser.add_argument("--quick", action="store_true", help="a rough look at each part")
    parser.add_argument("--page", help="the page with the table; default docs/internals/performance.md, and with --quick none")
    options = parser.parse_args()
    target = options.page or (None if options.quick else os.path.join(ROOT, "docs", "internals", "performance.md"))
    try:
        before = text_between(target, "bench") if target else ""
    except (OSError, UnicodeDecodeError, Failure) as error:
        parser.error(f"--page: {error}")
    facts, version = conditions(), commit()
    results = {name: measure(name, number, options.quick) for number, name in enumerate(PARTS, 1)}
    text = page(results, facts, version, before)
    say(f"\n{text}")
    failed = [name for name, said in results.items() if said is None]
    if target and len(failed) < len(results):
        replace_between(target, "bench", text)
        say(f"\nwritten into {os.path.relpath(target)}")
    if not options.quick and not options.page and len(failed) < len(results):
        record(results, facts, version)
        say("the ratios are in docs/internals/ratios.md; tools/plots draws them")
    if options.json:
        print(to_json({"conditions": facts | {"commit": version}, **results}))
    if failed:
        sys.exit(f"tools/bench: not measured: {', '.join(failed)}; what was wrong stands above")


if __name__ == "__main__":
    command.play("tools/bench", main)

"""tools/bench scale: what each piece of work costs tallyd and Postgres, and how that grows with the subscriptions; with --only
operations, whether an operation on one very large activity delays accepts of others.

Writes the tables of docs/internals/scale.md and the costs that tools/capacity reckons with (tools/lib/capacity/measured.json);
--only and --sizes measure a part anew and leave the others as they were.
"""

import argparse
import os
import sys

import command
from cluster import Cluster, program, workplace
from costs import Costs
from credentials import make_certificate
from growth import grow, mixed
from measure import commit, conditions, say, to_json, version
from operations import Operations, shared_buffers
from page import markdown_table, replace_between
from sink import Sink
from stage import Stage
from watch import LEAST_STATEMENT_MS, LEAST_WAIT_MS, at_least

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path.append(os.path.join(ROOT, "tools", "lib", "capacity"))
import measured  # noqa: E402
from capacity import limits, report  # noqa: E402
from model import Costs as MeasuredCosts  # noqa: E402
from model import Plan, need  # noqa: E402

SIZES = [1_000, 10_000, 100_000, 1_000_000, 10_000_000]
# What is measured if no part is named; then the part that takes longer than all of them.
PARTS, LONG = ["costs", "growth", "mixed", "kick_off"], "operations"
BODY, STREAMS = 400, 1000


class Bench:
    def __init__(self, options, folder, cluster, sink):
        self.options = options
        self.place = (options.bin, folder, cluster, sink)

    def costs(self):
        costs = Costs(*self.place, scale=10 if self.options.quick else 1).measure()
        return costs | {"bytes": self.bytes()}

    def bytes(self):
        """What a row of each kind takes on disk with its indexes, fresh from being loaded."""
        few, many = 1, 200_000 // (10 if self.options.quick else 1)
        found = {}
        for holds in ("nothing", "start-tokens", "subscriptions"):
            sizes = []
            for count in (few, many):
                stage = Stage(*self.place, count, holds)
                sizes.append(stage.sizes()["database"])
            found[holds] = round((sizes[1] - sizes[0]) / (many - few), 1)
            found["empty"] = sizes[0]
        return found

    def growth(self):
        return {str(size): grow(*self.place, size) for size in self.options.sizes}

    def mixed(self):
        devices, seconds = (20_000, 10) if self.options.quick else (150_000, 45)
        name = f"{seconds} s of changes to {devices:,} phones, of other changes and of reports"
        return {name: mixed(*self.place, devices, seconds)}

    def kick_off(self):
        """The seconds until so many phones follow, from the post of the start."""
        phones = 20_000 if self.options.quick else 100_000
        return {str(phones): round(Costs(*self.place).kick_off(phones)[1], 2)}

    def operations(self):
        return Operations(*self.place, max(self.options.sizes)).measure()


WORDS = {
    "change": "a change, accepted over HTTP; nobody follows",
    "lone_change": "the same when 100 a second come at an even pace",
    "batched_change": "the same in a batch of 1,000",
    "push": "a push of a change to 200,000 update tokens",
    "ring": "a push of a change to 40,000 update tokens, which are one ring",
    "single": "a change of a batch to the one phone of its activity, push included",
    "start": "a push-to-start of 50,000 devices, claimed one by one",
    "registration": "a device registers with a start token",
    "report": "a device reports the first token of an activity, and is owed nothing",
    "phone_registration": "50,000 phones register with a new start token and a ticket, on 64 connections",
    "phone_report": "50,000 phones report their update token the same way, and are owed nothing",
    "lone_report": "a new device reports a token, when 100 a second come at an even pace",
    "late_report": "a device reports its token of an activity that 200,000 follow, and is sent the newest state",
    "channel": "a channel made for an activity, its start included",
    "broadcast": "a change of a batch, broadcast",
}


def costs_table(costs):
    rows = [["", "CPU of tallyd", "CPU of Postgres", "WAL", "stays on disk", "a second, as measured"]]
    for name, words in WORDS.items():
        one = costs[name]
        rows.append([
            words, f"{one['daemon_us']:,.1f} µs", f"{one['postgres_us']:,.1f} µs", f"{one['wal_bytes']:,.0f} B",
            f"{max(0, one['disk_bytes']):,.0f} B", f"{one['per_second']:,}",
        ])  # fmt: skip
    bytes_of = costs["bytes"]
    rows.append(["a second of rest", f"{costs['idle']['daemon_us']:,} µs", f"{costs['idle']['postgres_us']:,} µs", "", "", ""])
    rows.append(["a device in the database", "", "", "", f"{bytes_of['nothing']:,.0f} B", ""])
    rows.append(["   with a start token", "", "", "", f"{bytes_of['start-tokens']:,.0f} B", ""])
    rows.append(["   with an update token", "", "", "", f"{bytes_of['subscriptions']:,.0f} B", ""])
    return rows


def growth_table(growth):
    rows = [[
        "subscriptions", "database", "`subscriptions`, indexes", "`devices`, indexes", "accept", "first push", "per push",
        "CPU of tallyd, of Postgres a push", "a registration", "memory of tallyd",
    ]]  # fmt: skip
    for size, one in sorted(growth.items(), key=lambda item: int(item[0])):
        tables = {name: f"{of['table'] / 1e6:,.1f} + {of['indexes'] / 1e6:,.1f} MB" for name, of in one["tables"].items()}
        rows.append([
            f"{int(size):,}", f"{one['database'] / 1e6:,.0f} MB", tables["subscriptions"], tables["devices"],
            f"{one['accept_ms']:.1f} ms", f"{one['first_push_ms']:.0f} ms", f"{one['us_per_push']:.1f} µs",
            f"{one['daemon_us']:.1f}, {one['postgres_us']:.1f} µs", f"{one['registration_ms']:.1f} ms",
            f"{one['memory_mib']:.0f} MiB",
        ])  # fmt: skip
    return rows


def operations_table(rows):
    table = [[
        "", "through after", "answered after", "longest accept elsewhere", "longest wait for a lock",
        "most rows of a transaction", "longest statement", "memory of tallyd",
    ]]  # fmt: skip
    for one in rows:
        if "failed" in one:
            reason = one["failed"].replace("|", "/").replace("\n", " ")
            table.append([one["name"], f"failed: {reason[:200]}"] + [""] * 6)
            continue
        accept = ", some failed" if one["failed_accepts"] else ""
        statement = ", some ran out of time" if one["statement_timeouts"] else ""
        table.append([
            one["name"], f"{one['seconds']:,.1f} s", f"{one['answer_ms']:,.0f} ms",
            f"{one['longest_accept_elsewhere_ms']:,.0f} ms{accept}", at_least(one["longest_lock_wait_ms"], LEAST_WAIT_MS),
            f"{one['rows_of_one_transaction']:,}", at_least(one["longest_statement_ms"], LEAST_STATEMENT_MS) + statement,
            f"{one['memory_mib']:.0f} MiB",
        ])  # fmt: skip
    return table


def longest_accept(rows):
    """The milliseconds of the longest accept elsewhere, whatever was done meanwhile."""
    return max((one["longest_accept_elsewhere_ms"] for one in rows if "longest_accept_elsewhere_ms" in one), default=None)


def checks_table(said):
    rows = [["", "predicted", "measured", "off by"]]
    for what, unit, predicted, found in measured.checks(said):
        digits = 3 if found < 1 else 1
        rows.append(
            [what, f"{predicted:,.{digits}f} {unit}", f"{found:,.{digits}f} {unit}", f"{predicted / found - 1:+.0%}"]
        )
    return rows


def final(said, on_channels, activities):
    """What tools/capacity says of a World Cup final for 50 million phones, as docs/internals/scale.md asks it."""
    plan = Plan(devices=50_000_000, activities=activities, updates_per_minute=2, start_minutes=30, postgres_cores=32, on_channels=on_channels)
    found = need(MeasuredCosts.measured(said["costs"]), plan)
    return "\n".join(["```text", *report(plan, found), *limits(plan, found), "```"])


def write(said):
    """Writes what there is; the model needs all parts that it is made from."""
    page = os.path.join(ROOT, "docs", "internals", "scale.md")
    tables = {}
    if all(part in said for part in PARTS):
        tables = {"costs": costs_table(said["costs"]), "growth": growth_table(said["growth"]), "checks": checks_table(said)}
        replace_between(page, "whole", final(said, 0, 1))
        replace_between(page, "tokens", final(said, 0, 20))
        replace_between(page, "channel", final(said, 1, 20))
    if LONG in said:
        tables[LONG] = operations_table(said[LONG])
    for name, rows in tables.items():
        words = said["measured"]["mixed" if name == "checks" else name]
        text = "\n".join(markdown_table(rows, left=1))
        if name == LONG:
            text = f"{said[LONG][0]['subscriptions']:,} subscriptions of each activity:\n\n{text}"
        replace_between(page, name, f"{text}\n\n{words['date']}, commit {words['commit']}; load {words['load']}; {words['machine']}.")
    # The texts of statements are for whoever looks at them now.
    rows = [{name: value for name, value in one.items() if name != "longest_statements"} for one in said.get(LONG, [])]
    with open(measured.PATH, "w", encoding="utf-8") as file:
        file.write(to_json(said | ({LONG: rows} if rows else {})) + "\n")
    say(f"written: {os.path.relpath(page)}, {os.path.relpath(measured.PATH)}")


def sizes(text):
    """Numbers of subscriptions, as an argument names them."""
    try:
        return [command.count(size) for size in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' are not numbers over 0 with commas between them") from None


def measure(options, parts):
    """What each of the parts has found, and under which conditions."""
    facts = conditions()
    machine = f"{facts['cpu']}, {facts['cpus']} CPUs shared by all, kernel {facts['kernel']}, {version(program('postgres'), '--version')}"
    found, marks = {}, {}
    with workplace("bench") as folder:
        make_certificate(folder)
        sink = Sink(os.path.join(options.bin, "bench-sink"), folder, os.sched_getaffinity(0), BODY, streams=STREAMS)
        with Cluster(options.bin, folder, shared_buffers() if LONG in parts else None) as cluster, sink:
            bench = Bench(options, folder, cluster, sink)
            for name in parts:
                say(f"-- {name}")
                before = os.getloadavg()[0]
                found[name] = getattr(bench, name)()
                words = f"{before:.1f} to {os.getloadavg()[0]:.1f}"
                marks[name] = {"date": facts["date"], "commit": commit(), "load": words, "machine": machine}
            cluster.drop()
    return found, marks, facts


def main():
    parser = command.parser("scale", __doc__, "a rough look with few rows, which is not written anywhere")
    parser.add_argument(
        "--only",
        action="append",
        choices=(*PARTS, LONG),
        help=f"a part; may be repeated (default all but {LONG}, which take hours)",
    )
    parser.add_argument(
        "--sizes",
        type=sizes,
        help=f"numbers of subscriptions (default 1000,10000,100000,1000000,10000000); {LONG} take the largest",
    )
    options = parser.parse_args()
    parts = options.only or PARTS
    if not options.sizes:
        options.sizes = SIZES if not options.quick else SIZES[:3] if LONG in parts else SIZES[:2]

    found, marks, facts = measure(options, parts)
    # What was measured before stays where nothing new was.
    said = {} if options.quick or not os.path.exists(measured.PATH) else measured.read()
    if "growth" in found:
        found["growth"] = said.get("growth", {}) | found["growth"]
    said |= found | {"conditions": facts, "measured": said.get("measured", {}) | marks}
    if LONG in said:
        said["longest_accept_elsewhere_ms"] = longest_accept(said[LONG])
    if not options.quick:
        write(said)
    if options.json:
        print(to_json(said))
        return
    for name, rows in (("costs", costs_table), ("growth", growth_table), (LONG, operations_table)):
        if name in parts:
            print("\n".join(markdown_table(rows(said[name]), left=1)), end="\n\n")
    if "costs" in said:
        print("\n".join(markdown_table(checks_table(said), left=1)))


if __name__ == "__main__":
    command.play("tools/bench scale", main)

"""tools/capacity: what an event with so many phones needs."""

import argparse
import json
import math
import sys
from dataclasses import asdict

import measured
from model import Costs, Plan, need


def size(count):
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= factor:
            return f"{count / factor:,.1f} {unit}"
    return f"{count / 1e3:,.0f} kB"


def duration(seconds):
    if seconds < 1:
        return f"{seconds * 1000:,.0f} ms"
    return f"{seconds:,.1f} s" if seconds < 120 else f"{seconds / 60:,.1f} min"


def report(plan, said):
    yield f"{plan.devices:,} phones, {plan.on_channels:.0%} on channels; {plan.activities:,} activities, {plan.updates_per_minute:g} updates a minute each"
    yield ""
    for one in said.phases:
        yield (
            f"  {one.name:<6} {duration(one.seconds):>10}: {one.pushes_per_second:,.0f} pushes/s, {one.daemon_cores:,.1f} cores of"
            f" tallyd, {one.postgres_cores:,.1f} of Postgres, WAL {size(one.wal_bytes_per_second)}/s"
        )
    yield ""
    yield f"  daemons                    {said.daemons:,} with {plan.daemon_cores} cores each, {plan.busy:.0%} busy"
    yield f"  Postgres                   {said.postgres_cores:,} cores, {plan.busy:.0%} busy; {said.database_connections:,} connections"
    yield f"  connections to APNs        {said.apns_connections:,} of {plan.apns_streams:,} streams at {plan.apns_round_trip * 1000:.0f} ms"
    yield f"  a change reaches all in    {duration(said.reach_seconds)}"
    if said.changes_per_pass > 1:
        yield f"                             the next comes {said.changes_per_pass:,.1f} times meanwhile: phones skip states, and show the newest"
    yield (
        f"  all are started in         {duration(said.primary_minutes * 60)} at least by {plan.postgres_cores} cores of Postgres,"
        f" {duration(said.claim_minutes * 60)} by the one worker of each activity"
    )
    yield f"  disk                       {size(said.disk_bytes)}, {said.rows:,} rows; and {said.rows_per_day:,.0f} rows of a day with one such event"


def sizing(said):
    """The table of docs/reference/figures.md: one activity with an update a minute, all phones by token, in Markdown."""
    yield "| phones | daemons of 4 cores | memory of each | cores of Postgres | disk | a change reaches all in | all are started in |"
    yield "|---:|---:|---:|---:|---:|---:|---:|"
    costs = Costs.measured(said["costs"])
    for devices in (10_000, 100_000, 1_000_000, 10_000_000):
        plan = Plan(devices=devices, start_minutes=15)
        found = need(costs, plan)
        memory = said["growth"][str(devices)]["memory_mib"]
        started = duration(max(found.primary_minutes, found.claim_minutes) * 60)
        yield (
            f"| {devices:,} | {found.daemons} | {memory:.0f} MiB | {found.postgres_cores} | {size(found.disk_bytes)} |"
            f" {duration(found.reach_seconds)} | {started} |"
        )


def limits(plan, said):
    if said.postgres_cores > plan.postgres_cores:
        yield (
            f"  ! one primary of {plan.postgres_cores} cores does not start all in {plan.start_minutes:g} min: give it"
            f" {said.primary_minutes:,.0f} min, or spread the phones over {-(-said.postgres_cores // plan.postgres_cores)} installations"
        )
    if said.claim_minutes > plan.start_minutes:
        yield (
            f"  ! the starts of one activity take {said.claim_minutes:,.0f} min: give them that, or make it"
            f" {math.ceil(plan.activities * said.claim_minutes / plan.start_minutes):,} activities with a part of the phones each"
        )
    if plan.on_channels and plan.activities > 10_000:
        yield "  ! Apple allows 10,000 channels for an app in an environment"
    if plan.activities and plan.updates_per_minute > 60:
        yield "  ! Apple's staff advise at most one update a second of an activity"


def check(said, as_json):
    rows = measured.checks(said)
    if as_json:
        print(json.dumps([dict(zip(("what", "unit", "predicted", "measured"), row)) for row in rows], indent=2))
    else:
        for what, unit, predicted, found in rows:
            print(f"{what:<46} predicted {predicted:>10,.3f} {unit:<2}  measured {found:>10,.3f} {unit:<2}  {predicted / found - 1:+.0%}")


def main():
    parser = argparse.ArgumentParser(prog="tools/capacity", description=__doc__)
    parser.add_argument("--devices", type=int, default=1_000_000, help="phones of the event (default 1000000)")
    parser.add_argument("--activities", type=int, default=1, help="what they follow, evenly (default 1)")
    parser.add_argument("--updates", type=float, default=1, help="updates a minute of each activity (default 1)")
    parser.add_argument("--channels", type=float, default=0, help="the part of the phones that is on channels, 0 to 1 (default 0)")
    parser.add_argument("--minutes", type=float, default=120, help="how long it takes (default 120)")
    parser.add_argument("--start-minutes", type=float, default=10, help="in which all phones are started (default 10)")
    parser.add_argument("--cores", type=int, default=4, help="of the machine of each daemon (default 4)")
    parser.add_argument("--postgres-cores", type=int, default=16, help="of the primary (default 16)")
    parser.add_argument("--connections", type=int, default=16, help="TALLY_DATABASE_CONNECTIONS (default 16)")
    parser.add_argument("--busy", type=float, default=0.6, help="how much of each machine is planned for (default 0.6)")
    parser.add_argument("--rings", type=int, default=4, help="how many daemons can work for one activity at a time (default 4)")
    parser.add_argument("--round-trip", type=float, default=100, help="milliseconds to APNs and back (default 100)")
    parser.add_argument("--costs", default=measured.PATH, help="measured costs (default tools/lib/capacity/measured.json)")
    parser.add_argument("--check", action="store_true", help="print what is predicted beside what was measured")
    parser.add_argument("--table", action="store_true", help="print the table of docs/reference/figures.md")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    try:
        said = measured.read(options.costs)
        costs = Costs.measured(said["costs"])
        of = said["measured"]["costs"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        parser.error(f"--costs {options.costs} is not what `tools/bench scale` writes: {error!r}")
    if options.check:
        return check(said, options.json)
    if options.table:
        print("\n".join(sizing(said)))
        return
    try:
        plan = Plan(
            devices=options.devices, activities=options.activities, updates_per_minute=options.updates,
            on_channels=options.channels, minutes=options.minutes, start_minutes=options.start_minutes,
            daemon_cores=options.cores, postgres_cores=options.postgres_cores, connections_per_daemon=options.connections,
            busy=options.busy, rings=options.rings, apns_round_trip=options.round_trip / 1000,
        )  # fmt: skip
    except ValueError as error:
        parser.error(str(error))
    found = need(costs, plan)
    if options.json:
        print(json.dumps({"plan": asdict(plan), "need": asdict(found)}, indent=2))
    else:
        print("\n".join([*report(plan, found), *limits(plan, found)]))
        print(f"\nCosts: {of['date']}, commit {of['commit']}; {of['machine']}.")


if __name__ == "__main__":
    sys.exit(main())

"""tools/soak: a whole system at work for an hour, and what grows meanwhile.

Two daemons, Postgres, the simulator with its phones, and callers of every kind: generations of activities are registered
for, started, updated (one by one, in batches, later by schedule), ended and forgotten, by update token and by channel;
tokens rotate, phones go away and come back, readers follow the events. Exit code 1 if phones did not converge.
"""

import argparse
import os
import sys
import threading
import time

TOOLS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(TOOLS, "bench"))
import command  # noqa: E402
from cluster import Cluster, program, workplace  # noqa: E402
from daemon import Daemon  # noqa: E402
from measure import Failure, conditions, version  # noqa: E402
from page import markdown_table, replace_between  # noqa: E402
from simulator import Simulator  # noqa: E402

from samples import Interval, Sampler, per_hour, quantile, say  # noqa: E402
from traffic import Backend, Generation, Latencies, Reader, register  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(TOOLS))
LANES, WORKERS = 2, 3
DAEMONS = 2
# The duty that drops partitions, and that which forgets kept answers, have their turn every ten minutes.
DUTY_SECONDS = 660


class Soak:
    def __init__(self, options, cluster, url, daemons, simulator):
        self.options, self.cluster, self.url, self.daemons, self.simulator = options, cluster, url, daemons, simulator
        self.latencies, self.stop = Latencies(), threading.Event()
        self.sampler = Sampler(cluster, url, daemons)
        self.intervals, self.reports, self.errors = [], [], []
        self.fresh_reports = []
        self.numbers, self.lock = iter(range(1, 1_000_000)), threading.Lock()

    # --- Setting up ---------------------------------------------------------------------------------------------------

    def register(self):
        self.key = register(self.daemons[0])
        self.simulator.call("PUT", "/tally", {"url": self.daemons[-1].url, "key": self.key})
        self.backend = Backend([daemon.url for daemon in self.daemons], self.key, self.latencies)

    def leave_old_rows(self):
        """A partition and kept answers from long ago, which have to go while the soak is on."""
        self.cluster.query(
            "CREATE TABLE timeline_20200101 (LIKE timeline INCLUDING ALL);"
            " INSERT INTO timeline_20200101 (at, kind, activity_key) SELECT '2020-01-01 12:00Z', 'push', n FROM generate_series(1, 100000) AS n;"
            " ALTER TABLE timeline ATTACH PARTITION timeline_20200101 FOR VALUES FROM ('2020-01-01 00:00Z') TO ('2020-01-02 00:00Z');"
            " INSERT INTO idempotency_keys (scope, body_sha256, status, answer, created_at)"
            " SELECT sha256(n::text::bytea), '\\x01d0', 202, '{}', now() - interval '25 hours' FROM generate_series(1, 50000) AS n",
            self.url,
        )

    def old_rows_are_gone(self):
        return self.sampler.query(
            "SELECT (to_regclass('timeline_20200101') IS NULL)::text, (SELECT count(*) FROM idempotency_keys WHERE body_sha256 = '\\x01d0')"
        ) == "true|0"

    # --- Work ---------------------------------------------------------------------------------------------------------

    def live(self):
        """One generation after the other, until the time is over; each with as much time as the others."""
        while not self.stop.is_set():
            with self.lock:
                number = next(self.numbers)
            generation = Generation(number, self.options.activities, self.backend, self.simulator, seed=number)
            try:
                generation.begin()
                self.work(generation)
                generation.end()
                report = generation.verdict()
                generation.wait_for_reports()
                generation.forget()
            except Exception as error:  # Whatever it is, it is the verdict.
                self.errors.append(f"generation {number}: {error}")
                say(f"generation {number} failed: {error}")
                return
            with self.lock:
                self.reports.append(report)
                self.fresh_reports.append(report)
            if report["wrong"]:
                say(f"generation {number}: {len(report['wrong'])} phones are wrong, such as {report['wrong'][0]}")

    def work(self, generation):
        until = time.monotonic() + self.options.life
        pace = LANES * WORKERS / self.options.rate

        def post():
            due = time.monotonic()
            while time.monotonic() < until and not self.stop.is_set():
                generation.update()
                due += pace
                time.sleep(max(0, due - time.monotonic()))

        def guarded():
            try:
                post()
            except Exception as error:  # As above.
                self.errors.append(f"generation {generation.number}: {error}")

        workers = [threading.Thread(target=guarded, daemon=True) for _ in range(WORKERS)]
        for worker in workers:
            worker.start()
        while any(worker.is_alive() for worker in workers):
            generation.disturb()
            time.sleep(5)
        # Updates that were posted for later have run by then.
        time.sleep(12)

    def run(self):
        lanes = [threading.Thread(target=self.live, daemon=True) for _ in range(LANES)]
        readers = [Reader(daemon.url, self.key, self.stop) for daemon in self.daemons]
        began = time.monotonic()
        for number, thread in enumerate(lanes + readers):
            thread.start()
            if number < LANES:
                time.sleep(min(self.options.life / LANES, 30))
        self.sampler.take()
        first_rows, seconds = self.sampler.rows(), self.options.minutes * 60
        self.leave_old_rows()
        gone_after = None
        while time.monotonic() - began < seconds and not self.errors:
            time.sleep(min(10, seconds / 30))
            self.sampler.take()
            if gone_after is None and self.old_rows_are_gone():
                gone_after = time.monotonic() - began
            if (time.monotonic() - began) / seconds * 10 >= len(self.intervals) + 1:
                self.close_interval(time.monotonic() - began)
        self.stop.set()
        deadline = time.monotonic() + self.options.life + 300
        for lane in lanes:
            lane.join(max(0, deadline - time.monotonic()))
            if lane.is_alive():
                self.errors.append("a generation did not come to its end in five minutes more than it should take")
        return first_rows, self.sampler.rows(), gone_after, readers

    def close_interval(self, until):
        seconds = self.latencies.take()
        with self.lock:
            fresh, self.fresh_reports = self.fresh_reports, []
        shown = [report["latency_ms"] for report in fresh if report["latency_ms"].get("p50") is not None]
        interval = Interval(
            until, len(seconds), quantile(seconds, 0.5) * 1000, quantile(seconds, 0.99) * 1000,
            [one["p50"] for one in shown], [one["p99"] for one in shown],
        )  # fmt: skip
        self.intervals.append(interval)
        last = self.sampler.samples[-1]
        say(
            f"{until / 60:.0f} min: {interval.calls} calls, p50 {interval.p50_ms:.0f} ms, p99 {interval.p99_ms:.0f} ms; daemons"
            f" {', '.join(f'{mib:.0f}' for mib in last.resident_mib)} MiB, {last.descriptors} descriptors; database"
            f" {last.database_mb:.0f} MB; {len(self.reports)} generations over"
        )


def interval_rows(soak):
    yield [
        "minute", "calls", "answered p50, p99", "on the phone p50, p99", "memory of the daemons", "descriptors", "threads",
        "database", "dead rows", "WAL", "partitions", "connections",
    ]  # fmt: skip
    for interval in soak.intervals:
        last = [sample for sample in soak.sampler.samples if sample.seconds <= interval.until + 1][-1]
        shown = f"{max(interval.shown_p50_ms):,} ms, {max(interval.shown_p99_ms):,} ms" if interval.shown_p50_ms else ""
        yield [
            f"{interval.until / 60:.1f}", f"{interval.calls:,}", f"{interval.p50_ms:.0f} ms, {interval.p99_ms:.0f} ms", shown,
            ", ".join(f"{mib:.0f}" for mib in last.resident_mib) + " MiB", ", ".join(map(str, last.descriptors)),
            ", ".join(map(str, last.threads)), f"{last.database_mb:,.0f} MB", f"{last.dead_rows:,}",
            f"{last.wal_mb:,.0f} MB", str(last.partitions), str(last.backends),
        ]  # fmt: skip


# What bounds the rows of a table; all others have as many rows as there are apps, keys and devices.
BOUNDS = {
    "activities": "30 days after their end", "changes": "with their activity", "activity_app_versions": "with its activity",
    "budget_ledger": "with its activity", "segments": "with its activity", "channels": "with their activity",
    "audience_members": "with their activity",
    "events": "by age", "timeline": "by age", "idempotency_keys": "24 hours", "schedules": "with their activity", "audit_log": "by age",
}  # fmt: skip


def growth_rows(soak, first_rows, last_rows):
    """What should be bounded, by the hour: the line through the last two thirds, when all has been used once."""
    samples = soak.sampler.samples[len(soak.sampler.samples) // 3 :]
    yield ["", "at the end", "growth by the hour"]
    for number in range(len(soak.daemons)):
        for name, form in (("resident_mib", "{:,.1f} MiB"), ("descriptors", "{:,.0f}"), ("threads", "{:,.0f}")):
            points = [(sample.seconds, getattr(sample, name)[number]) for sample in samples]
            yield [f"daemon {number + 1}: {name.replace('_mib', ' memory')}", form.format(points[-1][1]), f"{per_hour(points):+,.1f}"]
    hours = (soak.sampler.samples[-1].seconds - soak.sampler.samples[0].seconds) / 3600
    for name in sorted(last_rows):
        grown = last_rows[name] - first_rows.get(name, 0)
        if last_rows[name] or grown:
            yield [f"rows of `{name}`" + (f" ({BOUNDS[name]})" if name in BOUNDS else ""), f"{last_rows[name]:,}", f"{grown / hours:+,.0f}"]


def verdict(soak, gone_after, readers):
    """Lines of text, and whether all is well."""
    phones = sum(report["phones"] for report in soak.reports)
    wrong = sum(len(report["wrong"]) for report in soak.reports)
    second = sum(report["second_cards"] for report in soak.reports[-1:])
    yield f"{len(soak.reports)} generations, {phones:,} phones: {phones - wrong:,} showed what they should in the end, {wrong} did not."
    yield f"{soak.latencies.calls:,} calls were answered; {soak.latencies.failures} were made again. Second cards: {second}."
    yield f"Readers of events got {', '.join(f'{reader.events:,}' for reader in readers)} events, with {sum(reader.breaks for reader in readers)} interruptions."
    yield f"Autovacuum ran {soak.sampler.vacuums()} times."
    if gone_after:
        yield f"The partition and the 50,000 kept answers from long ago were gone after {gone_after / 60:.1f} min."
    else:
        yield "The partition and the kept answers from long ago were still there: the duty comes every ten minutes."
    yield from soak.errors


def is_well(soak, gone_after):
    long_enough = soak.options.minutes * 60 > DUTY_SECONDS
    return bool(soak.reports) and not soak.errors and not any(report["wrong"] for report in soak.reports) and (
        gone_after is not None or not long_enough
    )


def main():
    parser = argparse.ArgumentParser(prog="tools/soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60, help="how long (default 60)")
    parser.add_argument("--rate", type=float, default=20, help="changes a second (default 20)")
    parser.add_argument("--activities", type=int, default=12, help="of a generation, with ten phones each (default 12)")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/internals/scale.md")
    parser.add_argument("--bin", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not 0.5 <= options.minutes <= 1440 or not 0.1 <= options.rate <= 1000 or not 1 <= options.activities <= 500:
        parser.error("--minutes from 0.5 to 1440, --rate from 0.1 to 1000, --activities from 1 to 500")
    options.life = min(180, options.minutes * 60 / 4)

    facts = conditions()
    with workplace("soak") as folder:
        with Cluster(options.bin, folder) as cluster, Simulator(options.bin, folder) as simulator:
            url = cluster.fresh()
            settings = simulator.daemon_settings | {"TALLY_EVENT_RETENTION_DAYS": "1"}
            daemons = [Daemon(options.bin, url, **settings) for _ in range(DAEMONS)]
            with daemons[0], daemons[1]:
                soak = Soak(options, cluster, url, daemons, simulator)
                soak.register()
                say(f"{DAEMONS} daemons, {options.minutes:g} minutes at {options.rate:g} changes a second")
                first_rows, last_rows, gone_after, readers = soak.run()
                lines = list(verdict(soak, gone_after, readers))
            cluster.drop()
    facts["postgres"] = version(program("postgres"), "--version")
    report = [
        "\n".join(markdown_table(list(interval_rows(soak)), left=0)),
        "\n".join(markdown_table(list(growth_rows(soak, first_rows, last_rows)), left=1)),
        "\n".join(lines),
        f"{facts['date']}, {options.minutes:g} minutes at {options.rate:g} changes a second; {facts['cpu']}, {facts['cpus']} CPUs, load"
        f" {facts['load_before']} to {os.getloadavg()[0]:.1f}, {facts['postgres']}.",
    ]
    print("\n\n".join(report))
    if not is_well(soak, gone_after):
        raise Failure("phones did not converge, or what had to go did not")
    if options.write:
        replace_between(os.path.join(ROOT, "docs", "internals", "scale.md"), "soak", "\n\n".join(report))
    print("\nAll phones converged.")


if __name__ == "__main__":
    command.play("tools/soak", main)

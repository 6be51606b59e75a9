"""tools/bench topics: the followers of one topic are enrolled for a match, beside as many devices by all_of_type and the inserts
alone; then reports of devices with 50 topics beside the same reports without, and the page of topics with their counts."""

import collections
import os
import re
import time

import command
from cluster import Workbench, server_parser
from credentials import make_certificate
from measure import Failure, median, say, table
from sink import Sink
from stage import APP, PATH, Stage
from watch import LEAST_STATEMENT_MS, ServerLog, at_least

TOPIC, OTHERS, EACH, STREAMS = "team:ajax", 10_000, 11, 1000
PAGE, CALLERS, REPORTS, MANY, FEW = 2_000, 32, 3_000, 50, 2
# Followers that are written at a time.
FILLED = 100_000
ALERT = {"title": "Kick-off", "body": "Argentina against France"}
DEVICE = {"environment": "production", "os_version": "18.1", "app_version": "1.0"}
# The reports whose costs are compared, and what they are called among the ratios.
REPORTED = {
    "first": ("report_with_topics", f"the first report of a device, with {MANY} topics"),
    "same": ("report_with_same_topics", "a report with the same topics as before"),
    "few": ("report_with_changed_topics", f"a report with {FEW} of them replaced"),
    "all": ("report_with_other_topics", "a report with all of them replaced, of another version of the app"),
}


def topics(number, first=0):
    """Topics of a device. A greater `first` replaces as many of them."""
    return [f"topic-{(number * 7919 + n * 613) % OTHERS}" for n in range(first, first + MANY)]


class Bench:
    def __init__(self, stage, devices, each):
        self.stage, self.devices, self.each = stage, devices, each

    def fill(self):
        """Each device has a user, who follows the topic and some others."""
        began = time.monotonic()
        self.stage.query("UPDATE devices SET user_id = 'user-' || device_key")
        last = int(self.stage.query("SELECT max(device_key) FROM devices"))
        for first in range(0, last, FILLED):
            # Foreign keys and triggers are left out: the rows are ours.
            self.stage.query(
                f"""SET session_replication_role = replica; SET synchronous_commit = off;
                INSERT INTO topic_follows (bundle_id, topic, user_id)
                SELECT bundle_id, t.topic, user_id FROM devices CROSS JOIN LATERAL (
                    SELECT '{TOPIC}' AS topic
                    UNION ALL
                    SELECT 'topic-' || (device_key * 7919 + n * 613) % {OTHERS} FROM generate_series(1, {self.each - 1}) AS n
                ) AS t
                WHERE device_key > {first} AND device_key <= {first + FILLED}"""
            )
        self.stage.query("VACUUM (ANALYZE)")
        self.stage.cluster.age()
        say(f"-- {self.devices:,} devices whose users follow {self.each} topics each, after {time.monotonic() - began:.0f} s")

    def enrol(self, name, audience):
        """Seconds from the post until each device has its start, and until all were sent."""
        stage = self.stage
        stage.settle()
        body = stage.start(name, audience=audience, alert=ALERT)["body"]
        began = time.monotonic()
        stage.daemon.call("PUT", f"{PATH}/activities/{name}", body, stage.key)
        while stage.query(f"SELECT enrolment_due FROM activities WHERE activity_id = '{name}'") != "f":
            time.sleep(0.05)
        enrolled = time.monotonic() - began
        stage.wait_for(self.devices)
        sent = time.monotonic() - began
        found = stage.query(f"SELECT count(*) FROM starts JOIN activities USING (activity_key) WHERE activity_id = '{name}'")
        if found != str(self.devices):
            raise Failure(f"{found} of {self.devices} devices were enrolled for {name}")
        say(f"-- {name}: enrolled after {enrolled:.1f} s, {self.devices / enrolled:,.0f}/s; all sent after {sent:.1f} s")
        return {"seconds": round(enrolled, 2), "per_second": round(self.devices / enrolled), "seconds_until_sent": round(sent, 2)}

    def inserts(self):
        """The same rows by Postgres alone, a page a transaction."""
        stage = self.stage
        stage.open(["alone"])
        key = stage.query("SELECT activity_key FROM activities WHERE activity_id = 'alone'")
        stage.settle()
        began = time.monotonic()
        stage.query(
            f"""DO $$
            DECLARE last bigint := 0; this bigint;
            BEGIN
                LOOP
                    SELECT max(device_key) INTO this
                    FROM (SELECT device_key FROM devices WHERE device_key > last ORDER BY device_key LIMIT {PAGE}) AS page;
                    EXIT WHEN this IS NULL;
                    INSERT INTO starts (activity_key, device_key, state, due_at)
                    SELECT {key}, device_key, 'pending', now() + interval '1 day' FROM devices
                    WHERE device_key > last AND device_key <= this;
                    COMMIT;
                    last := this;
                END LOOP;
            END $$"""
        )
        seconds = time.monotonic() - began
        say(f"-- the inserts alone: {self.devices / seconds:,.0f}/s")
        return {"seconds": round(seconds, 2), "per_second": round(self.devices / seconds)}

    def watched(self, work):
        """What some work gives, and the longest statement of the daemon meanwhile: milliseconds and text."""
        log = ServerLog(self.stage.cluster.log)
        found = work()
        statements, _, _ = log.read()
        return found, statements[0] if statements else (0, "")

    def reports(self, rounds):
        """What reports cost the daemon and Postgres: microseconds of CPU without topics and with them."""
        found = {scene: collections.defaultdict(list) for scene in REPORTED}
        for scene in REPORTED:
            # The devices that report again later.
            if scene != "first":
                for name in ("without", "with"):
                    self.report(scene, name, -1)
        for number in range(rounds):
            for scene, costs in found.items():
                for name in ("without", "with"):
                    cost = self.stage.cost(REPORTS, lambda: self.report(scene, name, number) and None)
                    costs[name].append(cost["daemon_us"] + cost["postgres_us"])
        costs = {scene: {name: round(median(values), 1) for name, values in one.items()} for scene, one in found.items()}
        for scene, one in costs.items():
            say(f"-- {REPORTED[scene][1]}: {one['with']:,.0f} us of CPU, without topics {one['without']:,.0f} us")
        return costs

    def report(self, scene, name, number):
        """Lets many devices report; -1 is the report before the first round."""
        calls = []
        for n in range(REPORTS):
            device, body = f"{scene}-{name}-{n}", dict(DEVICE)
            if scene == "first":
                device += f"-{number}"
            if scene == "all":
                body["app_version"] = f"2.{number + 1}"
            if name == "with":
                # Where all are replaced, all devices follow the same.
                first = {"few": FEW, "all": MANY}.get(scene, 0) * (number + 1)
                body["topics"] = topics(0 if scene == "all" else n, first)
            calls.append(("PUT", f"{PATH}/devices/{device}", body))
        return self.stage.callers(CALLERS).run(calls)

    def counts(self):
        """Milliseconds of a page of topics with the numbers of their followers: the first, the median of 20 others at once, and
        one statement of Postgres alone that counts as many."""
        times = []
        for _ in range(21):
            began = time.monotonic()
            answer = self.stage.daemon.call("GET", f"{PATH}/topics?limit=100", None, self.stage.key)
            times.append((time.monotonic() - began) * 1000)
        if len(answer["items"]) != 100:
            raise Failure(f"a page of 100 topics was to come: {len(answer['items'])}")
        said = self.stage.query(
            f"""SET enable_seqscan = off; SET enable_bitmapscan = off; SET max_parallel_workers_per_gather = 0;
            EXPLAIN (ANALYZE, TIMING off, COSTS off) SELECT count(*), count(device_key) FROM topic_follows
            WHERE bundle_id = '{APP}' AND topic <= '{answer["items"][-1]["topic"]}'"""
        )
        alone = float(re.search(r"Execution Time: ([0-9.]+) ms", said)[1])
        return {"first": round(times[0], 1), "again": round(median(times[1:]), 1), "postgres": round(alone, 1)}


def main():
    parser = server_parser("topics", __doc__, "100,000 devices: a rough look", rounds=(3, "rounds of reports"), cpus=2)
    parser.add_argument("--devices", type=command.count, help="how many (default 1000000)")
    parser.add_argument("--topics-each", type=command.count, default=EACH, help=f"topics that each user follows (default {EACH})")
    options = parser.parse_args()
    devices = options.devices or (100_000 if options.quick else 1_000_000)
    with Workbench(options) as workbench:
        folder = workbench.folder
        make_certificate(folder)
        with Sink(os.path.join(options.bin, "bench-sink"), folder, workbench.allowed, 400, streams=STREAMS) as sink:
            with Stage(options.bin, folder, workbench.cluster, sink, devices, "start-tokens") as stage:
                bench = Bench(stage, devices, options.topics_each)
                bench.fill()
                topic = bench.enrol("by-topic", {"topics": [TOPIC]})
                everybody = bench.enrol("by-type", {"all_of_type": True})
                alone = bench.inserts()
                workbench.cluster.configure(ServerLog.SETTINGS)
                page, counting = bench.watched(bench.counts)
                costs, reporting = bench.watched(lambda: bench.reports(options.rounds))
    ratios = {
        "ratio_to_all_of_type": round(topic["per_second"] / everybody["per_second"], 3),
        "ratio_to_inserts": round(topic["per_second"] / alone["per_second"], 3),
    } | {REPORTED[scene][0]: round(one["with"] / one["without"], 3) for scene, one in costs.items()}
    rows = [
        ["", "devices/s", "all sent after"],
        [f"{devices:,} followers of a topic are enrolled", f"{topic['per_second']:,}", f"{topic['seconds_until_sent']:.1f} s"],
        ["as many by all_of_type", f"{everybody['per_second']:,}", f"{everybody['seconds_until_sent']:.1f} s"],
        ["the inserts alone", f"{alone['per_second']:,}", ""],
    ]
    reports = [["", "CPU", "without topics", "ratio"]] + [
        [REPORTED[scene][1], f"{one['with']:,.0f} us", f"{one['without']:,.0f} us", f"{ratios[REPORTED[scene][0]]:.2f}"]
        for scene, one in costs.items()
    ]
    lines = [
        *table(rows), "", *table(reports),
        f"\na page of 100 topics with their counts takes {page['first']:,.0f} ms, and {page['again']:,.0f} ms at once again; Postgres "
        f"alone counts as many in {page['postgres']:,.0f} ms",
        f"the longest statement: {at_least(counting[0], LEAST_STATEMENT_MS)} of counting, "
        f"{at_least(reporting[0], LEAST_STATEMENT_MS)} of reports",
    ]  # fmt: skip
    parts = {
        "topic": topic, "all_of_type": everybody, "inserts": alone, "topics_each": options.topics_each, "report_cpu_us": costs,
        "counts_ms": page, "longest_statement": {"counts": counting, "reports": reporting},
    }  # fmt: skip
    workbench.report(ratios, parts, lines)


if __name__ == "__main__":
    command.play("tools/bench topics", main)

"""tools/bench topics: the followers of one topic are enrolled for a match, beside as many devices by all_of_type and the inserts
alone; then reports of devices with 50 topics beside reports without, and the page of topics with their counts."""

import os
import time

import command
from cluster import Workbench, server_parser
from credentials import make_certificate
from measure import Failure, median, say, table
from sink import Sink
from stage import PATH, Stage

TOPIC, OTHERS, EACH, STREAMS = "team:ajax", 10_000, 10, 1000
PAGE, CALLERS, REPORTS, MANY = 2_000, 32, 3_000, 50
ALERT = {"title": "Kick-off", "body": "Argentina against France"}


class Bench:
    def __init__(self, stage, devices):
        self.stage, self.devices = stage, devices

    def fill(self):
        """Each device has a user, who follows the topic and some others."""
        began = time.monotonic()
        self.stage.query("UPDATE devices SET user_id = 'user-' || device_key")
        self.stage.query(
            f"""INSERT INTO topic_follows (bundle_id, topic, user_id)
            SELECT bundle_id, t.topic, user_id FROM devices CROSS JOIN LATERAL (
                SELECT '{TOPIC}' AS topic
                UNION ALL SELECT 'topic-' || (device_key * 7919 + n * 613) % {OTHERS} FROM generate_series(1, {EACH}) AS n
            ) AS t"""
        )
        self.stage.query("VACUUM (ANALYZE)")
        self.stage.cluster.age()
        say(f"-- {self.devices:,} devices whose users follow {1 + EACH} topics each, after {time.monotonic() - began:.0f} s")

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

    def reports(self, rounds):
        """What a report of a known device costs the daemon and Postgres, without topics and with many."""
        stage, found = self.stage, {"without": [], "with": []}
        device = {"environment": "production", "os_version": "18.1"}
        for number in range(rounds):
            for name in found:
                topics = {"topics": [f"topic-{(number * MANY + n) % OTHERS}" for n in range(MANY)]} if name == "with" else {}
                body = device | topics | {"app_version": f"2.{number}"}
                calls = [("PUT", f"{PATH}/devices/reporter-{name}-{n}", body) for n in range(REPORTS)]
                run = stage.callers(CALLERS).run
                if number == 0:
                    run(calls)
                cost = stage.cost(REPORTS, lambda: run(calls) and None)
                found[name].append(cost["daemon_us"] + cost["postgres_us"])
        costs = {name: round(median(values), 1) for name, values in found.items()}
        say(f"-- a report: {costs['without']:,.0f} us of CPU without topics, {costs['with']:,.0f} us with {MANY}")
        return costs

    def counts(self):
        """Milliseconds of a page of topics with the numbers of their followers."""
        times = []
        for _ in range(20):
            began = time.monotonic()
            answer = self.stage.daemon.call("GET", f"{PATH}/topics?limit=100", None, self.stage.key)
            times.append((time.monotonic() - began) * 1000)
        if len(answer["items"]) != 100:
            raise Failure(f"a page of 100 topics was to come: {len(answer['items'])}")
        return round(median(times), 1)


def main():
    parser = server_parser("topics", __doc__, "100,000 devices: a rough look", rounds=(3, "rounds of reports"), cpus=2)
    parser.add_argument("--devices", type=command.count, help="how many (default 1000000)")
    options = parser.parse_args()
    devices = options.devices or (100_000 if options.quick else 1_000_000)
    with Workbench(options) as workbench:
        folder = workbench.folder
        make_certificate(folder)
        with Sink(os.path.join(options.bin, "bench-sink"), folder, workbench.allowed, 400, streams=STREAMS) as sink:
            with Stage(options.bin, folder, workbench.cluster, sink, devices, "start-tokens") as stage:
                bench = Bench(stage, devices)
                bench.fill()
                topic = bench.enrol("by-topic", {"topics": [TOPIC]})
                everybody = bench.enrol("by-type", {"all_of_type": True})
                alone = bench.inserts()
                page = bench.counts()
                costs = bench.reports(options.rounds)
    ratios = {
        "ratio_to_all_of_type": round(topic["per_second"] / everybody["per_second"], 3),
        "ratio_to_inserts": round(topic["per_second"] / alone["per_second"], 3),
        "report_with_topics": round(costs["with"] / costs["without"], 3),
    }
    rows = [
        ["", "devices/s", "all sent after"],
        [f"{devices:,} followers of a topic are enrolled", f"{topic['per_second']:,}", f"{topic['seconds_until_sent']:.1f} s"],
        ["as many by all_of_type", f"{everybody['per_second']:,}", f"{everybody['seconds_until_sent']:.1f} s"],
        ["the inserts alone", f"{alone['per_second']:,}", ""],
    ]
    lines = [
        *table(rows),
        f"\na report with {MANY} topics costs {ratios['report_with_topics']:.2f} of one without ({costs['without']:,.0f} us of CPU); "
        f"a page of 100 topics with their counts takes {page:.0f} ms",
    ]
    parts = {"topic": topic, "all_of_type": everybody, "inserts": alone, "report_cpu_us": costs, "counts_ms": page}
    workbench.report(ratios, parts, lines)


if __name__ == "__main__":
    command.play("tools/bench topics", main)

"""tools/bench rehearsal: a share of the published peak of a cricket final, nine million pushes a minute, half of them for one match,
with a slow way to APNs, dead tokens and failures; then 2,000 channels with one change a second each."""

import os
import re
import threading
import time
from types import SimpleNamespace

import command
from cluster import Cluster, program, workplace
from costs import ChannelStage
from credentials import make_certificate
from measure import Failure, commit, conditions, say, table, version
from simulator import Simulator
from sink import Sink
from stage import APP, FIRST, PATH, Stage

PEAK = 9_000_000 / 60
# Each match has a goal so often.
EVERY = 10
FOLLOWERS = 1_000
BODY, STREAMS = 400, 1000
# There and back. One of so many answers is a 500 or a 503, and this share of all tokens dies during the run.
DELAY_MS, FAIL_EVERY, DEAD = 40, 1_000, 0.01
CHANNELS, CHANNEL_SECONDS = 2_000, 60


class Rehearsal(Stage):
    """Used in a `with`. One match has half of the cards, and each of the others a thousand; every device has one."""

    def __init__(self, bin, folder, cluster, sink, share):
        self.pushes = PEAK * share
        self.large = max(FOLLOWERS, round(self.pushes / 2 * EVERY))
        self.others = max(1, self.large // FOLLOWERS)
        super().__init__(bin, folder, cluster, sink, self.large, "subscriptions")

    def fill(self):
        """Matches with their followers, by SQL."""
        names = [f"other-{n}" for n in range(self.others)]
        self.open(names)
        count = self.others * FOLLOWERS
        self.query(
            f"""INSERT INTO devices (bundle_id, device_id, environment, os_version, app_version)
            SELECT '{APP}', 'other-' || n, 'production', '18.1', '1.0' FROM generate_series(0, {count - 1}) AS n ORDER BY n"""
        )
        self.query(
            f"""SET session_replication_role = replica;
            INSERT INTO subscriptions (activity_key, device_key, mode, state, update_token, known_revision, check_at)
            SELECT a.activity_key, d.device_key, 'token', 'riding',
                   int8send(d.device_key) || sha512(int8send(d.device_key)) || int8send(d.device_key), 1, now() + interval '8 hours'
            FROM devices AS d
            JOIN activities AS a ON a.activity_id = 'other-' || substr(d.device_id, 7)::int / {FOLLOWERS}
            WHERE d.device_id LIKE 'other-%' ORDER BY a.activity_key, d.device_key"""
        )
        self.query("VACUUM (ANALYZE)")

    def play(self, seconds):
        """Goals at an even pace: the pushes of the others come between those of the large match."""
        names = [FIRST, *(f"other-{n}" for n in range(self.others))]
        memory, stop = [], threading.Event()

        def watch():
            while not stop.wait(5):
                memory.append(self.daemon.resident_mib)

        def calls():
            for round in range(int(seconds / EVERY)):
                for name in names:
                    yield "POST", f"{PATH}/activities/{name}/updates", self.update()

        watcher = threading.Thread(target=watch)
        before = delivery(self.daemon)
        self.sink.counts()
        began = time.monotonic()
        watcher.start()
        try:
            self.pace(calls(), seconds)
        finally:
            stop.set()
            watcher.join()
        sent = self.sink.counts()
        lasted = time.monotonic() - began
        found = {
            "seconds": round(lasted, 1),
            "cards": self.large + self.others * FOLLOWERS,
            "matches": 1 + self.others,
            "pushes_per_second": round(sent["requests"] / lasted),
            "share_of_peak": round(sent["requests"] / lasted / PEAK, 4),
            "failed": sent["failed"],
            "gone": sent["gone"],
            "p50_at_most_seconds": quantile(before, delivery(self.daemon), 0.5),
            "p99_at_most_seconds": quantile(before, delivery(self.daemon), 0.99),
        }
        fifth = max(1, len(memory) // 5)
        second, last = memory[fifth : 2 * fifth] or memory, memory[-fifth:]
        found["memory_mib"] = round(sum(last) / len(last))
        found["memory_growth_mib"] = round(sum(last) / len(last) - sum(second) / len(second), 1)
        return found


def delivery(daemon):
    """The buckets of the time from the accept of a change to the answers that took it: how many were at most so long."""
    counts = {}
    for line in daemon.text("/metrics").splitlines():
        found = re.match(r'tally_delivery_seconds_bucket\{.*le="([^"]+)".*\} (\d+)', line)
        if found:
            bound = float(found[1].replace("+Inf", "inf"))
            counts[bound] = counts.get(bound, 0) + int(found[2])
    return counts


def quantile(before, after, share):
    """The bound of the bucket in which the quantile lies, of what was counted in between."""
    counts = {bound: count - before.get(bound, 0) for bound, count in after.items()}
    total = counts.get(float("inf"), 0)
    if not total:
        raise Failure("no delivery was counted")
    return next(bound for bound, count in sorted(counts.items()) if count >= share * total)


class Channels(ChannelStage):
    """Two thousand matches on a channel each."""

    def play(self, count, seconds):
        """A change of each a second, in batches; how long each second's broadcasts took until all were answered."""
        self.lease(count)
        time.sleep(2)
        before, late = delivery(self.daemon), 0
        began = time.monotonic()
        for second in range(seconds):
            time.sleep(max(0, began + second - time.monotonic()))
            late = max(late, time.monotonic() - began - second)
            self.batches([{"op": "update", "id": f"channel-{n}", "body": self.update()} for n in range(count)])
        after = delivery(self.daemon)
        return {
            "channels": count,
            "changes_per_second": round(count * seconds / max(seconds, time.monotonic() - began)),
            "latest_post_seconds": round(late, 2),
            "p50_at_most_seconds": quantile(before, after, 0.5),
            "p99_at_most_seconds": quantile(before, after, 0.99),
        }


def main():
    parser = command.parser("rehearsal", __doc__, "a minute at a hundredth of the peak, and 200 channels")
    parser.add_argument("--share", type=float, default=0.1, help="of the peak of 9,000,000 pushes a minute (default 0.1)")
    parser.add_argument("--seconds", type=command.count, default=600, help="how long it lasts (default 600)")
    options = parser.parse_args()
    share, seconds = (0.01, 60) if options.quick else (options.share, options.seconds)
    facts = conditions()
    with workplace("bench") as folder:
        make_certificate(folder)
        cards = PEAK * share * EVERY
        sink = Sink(
            os.path.join(options.bin, "bench-sink"), folder, os.sched_getaffinity(0), BODY, streams=STREAMS, delay_ms=DELAY_MS,
            fail_every=FAIL_EVERY, gone_every=max(2, int(PEAK * share * seconds / (cards * DEAD))),
        )  # fmt: skip
        with Cluster(options.bin, folder) as cluster, sink:
            with Rehearsal(options.bin, folder, cluster, sink, share) as rehearsal:
                rehearsal.fill()
                say(f"   {rehearsal.large + rehearsal.others * FOLLOWERS:,} cards are there; {seconds} s begin")
                peak = rehearsal.play(seconds)
                say(f"   {peak}")
            with Simulator(options.bin, folder) as simulator:
                place = SimpleNamespace(bin=options.bin, folder=folder, cluster=cluster, sink=sink)
                with Channels(place, simulator) as stage:
                    channels = stage.play(*((200, 10) if options.quick else (CHANNELS, CHANNEL_SECONDS)))
                say(f"   {channels}")
            cluster.drop()
    facts |= {"load_after": round(os.getloadavg()[0], 2), "commit": commit(), "postgres": version(program("postgres"), "--version")}
    rows = [["", "peak", "channels"]]
    for name in dict.fromkeys([*peak, *channels]):
        rows.append([name.replace("_", " "), *(f"{one[name]:,}" if name in one else "" for one in (peak, channels))])
    command.report(options, {}, {"peak": peak, "channels": channels}, facts, table(rows))


if __name__ == "__main__":
    command.play("tools/bench rehearsal", main)

"""tools/soak overload: producers post three times what the machine can accept, and what becomes of it.

First as much is posted as can be accepted, then three times as much, most of it routine, some of it with alerts, some of
it ends; then it is quiet again. Meanwhile phones follow matches, and a backend posts a routine change every 50 ms. What was
answered with 202 must be stored, phones must end up showing the newest state, and what is refused must be told when to
come again. The daemon and Postgres have half of the CPUs, producers and phones the others. Exit code 1 if not all is well.
"""

import argparse
import os
import resource
import sys
import threading
import time
from collections import Counter

TOOLS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(TOOLS, "bench"))
import command  # noqa: E402
from cluster import Cluster, program, workplace  # noqa: E402
from daemon import Daemon  # noqa: E402
from measure import Failure, conditions, version  # noqa: E402
from page import markdown_table, replace_between  # noqa: E402
from processes import Process  # noqa: E402
from simulator import Simulator  # noqa: E402

from producers import BATCH, Probe, Producer  # noqa: E402
from samples import quantile, say  # noqa: E402
from traffic import PATH, TYPE, Backend, Generation, Latencies, attributes, content, register  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(TOOLS))
LIVE = 10_000
FOLLOWED = 12
# Of what is offered under overload; the rest is routine.
SHARES = {"alert": 0.05, "end": 0.01}
# That make routine changes; one makes the others of each kind.
PROCESSES = 4
# At most, of each producer; and the files that the daemon has open besides, with room to spare.
CONNECTIONS, OTHER_FILES = 1_000, 200
QUIET_SECONDS = 10


class Overload:
    def __init__(self, options, cluster, url, daemon, simulator):
        self.options, self.cluster, self.url, self.daemon, self.simulator = options, cluster, url, daemon, simulator
        self.key = register(daemon)
        simulator.call("PUT", "/tally", {"url": daemon.url, "key": self.key})
        self.backend = Backend([daemon.url], self.key, Latencies())
        self.live = [f"live-{n}" for n in range(LIVE)]
        self.failures, self.peak_mib = [], 0
        self.process = Process(daemon.process.pid)

    def open(self, names):
        """Starts activities that nobody follows."""
        for first in range(0, len(names), 1000):
            operations = [
                {
                    "op": "start", "id": name,
                    "body": {"type": TYPE, "attributes": attributes(name), "content_state": content(0)},
                }
                for name in names[first : first + 1000]
            ]  # fmt: skip
            answer = self.backend.call("POST", f"{PATH}/batch", {"operations": operations})
            if any(result["status"] != 202 for result in answer["results"]):
                raise Failure(f"an activity was not started: {answer['results'][0]}")

    def produce(self, producers, seconds):
        """What the producers of each kind have got for answers, and over how many connections."""
        for producer in producers:
            producer.start(self.daemon.url, self.key, seconds)
        answers, connections = {}, 0
        for producer in producers:
            statuses, took, opened = producer.result()
            total, before = answers.get(producer.kind, (Counter(), {True: [], False: []}))
            seconds = {accepted: sorted(before[accepted] + took[accepted]) for accepted in took}
            answers[producer.kind] = (total + Counter(statuses), seconds)
            connections += opened
        return answers, connections

    def follow(self):
        """Changes to matches that phones follow, for as long as all goes on."""
        try:
            while not self.over.is_set():
                self.generation.update()
                self.peak_mib = max(self.peak_mib, self.process.resident / 2**20)
                self.over.wait(0.2)
        except Exception as error:  # Whatever it is, it is the verdict.
            self.failures.append(f"a match that phones follow: {error}")

    def run(self):
        seconds = self.options.seconds
        self.open([*self.live, "probe"])
        self.generation = Generation(1, FOLLOWED, self.backend, self.simulator, seed=1)
        self.generation.begin()
        self.over = threading.Event()
        follower = threading.Thread(target=self.follow, daemon=True)
        probe = Probe(self.daemon.url, self.key, "probe")
        follower.start()
        probe.start()
        begin = time.monotonic()
        time.sleep(QUIET_SECONDS)
        quiet = time.monotonic()

        # What can be accepted: as many requests at a time as keep it busy and wait for nothing else.
        answers, _ = self.produce([Producer("routine", self.live, None, 16, 1_000_000)], seconds)
        statuses, _ = answers["routine"]
        capacity = statuses.get(202, 0) / seconds
        say(f"{capacity:,.0f} changes a second can be accepted")
        offered = {kind: share * self.options.factor * capacity for kind, share in SHARES.items()}
        offered["routine"] = self.options.factor * capacity - sum(offered.values())
        ending = [f"ending-{n}" for n in range(int(offered["end"] * seconds) // BATCH * BATCH + BATCH)]
        self.open(ending)
        time.sleep(2)

        loaded = time.monotonic()
        say(f"{sum(offered.values()):,.0f} a second are posted now")
        shares = list(self.shared_out(offered))
        producers = [
            Producer(kind, ending if kind == "end" else self.live, rate, connections_of_each(len(shares)), 10_000_000 * place)
            for place, (kind, rate) in enumerate(shares, 1)
        ]
        answers, connections = self.produce(producers, seconds)
        unloaded = time.monotonic()
        time.sleep(QUIET_SECONDS)
        probe.stop.set()
        self.over.set()
        follower.join()
        probe.join()
        self.generation.end()
        verdict = self.generation.verdict()
        if probe.failure:
            self.failures.append(f"the probe: {probe.failure!r}")
        if verdict["wrong"]:
            self.failures.append(f"{len(verdict['wrong'])} phones are wrong, such as {verdict['wrong'][0]}")
        self.check(answers, statuses)
        before, during, after = (
            probe.between(begin, quiet), probe.between(loaded, unloaded), probe.between(unloaded, time.monotonic())
        )  # fmt: skip
        if any(status == 429 and not wait for _, status, _, wait in probe.answers):
            self.failures.append("a 429 without Retry-After")
        return {
            "capacity": capacity, "answers": answers, "connections": connections, "posting": seconds, "answering": unloaded - loaded,
            "before": before, "during": during, "after": after, "recovery": self.recovery(before, after, unloaded),
            "phones": verdict["phones"],
        }  # fmt: skip

    @staticmethod
    def shared_out(offered):
        """One process could not make so many routine changes."""
        for kind, rate in offered.items():
            shares = PROCESSES if kind == "routine" else 1
            yield from [(kind, rate / shares)] * shares

    def check(self, answers, first):
        """Every change that was answered with 202 is stored once, and no other; refused is only what may be."""
        taken = {kind: statuses.get(202, 0) for kind, (statuses, _) in answers.items()}
        taken["routine"] += first.get(202, 0)
        for kind, (statuses, _) in answers.items():
            if other := {status: count for status, count in statuses.items() if status not in (202, 429)}:
                self.failures.append(f"{kind} changes were answered otherwise: {other}")
        stored = self.cluster.query(
            "SELECT count(*) FILTER (WHERE c.kind = 'update' AND c.alert IS NULL), count(*) FILTER (WHERE c.kind = 'update'"
            " AND c.alert IS NOT NULL), count(*) FILTER (WHERE c.kind = 'end') FROM changes AS c"
            " JOIN activities AS a USING (activity_key) WHERE a.activity_id LIKE 'live-%' OR a.activity_id LIKE 'ending-%'",
            self.url,
        )
        found = dict(zip(("routine", "alert", "end"), map(int, stored.split("|"))))
        if found != taken:
            self.failures.append(f"answered with 202: {taken}; stored: {found}")

    @staticmethod
    def recovery(before, after, end):
        """Seconds after the end of the overload until the probe was answered as it had been before."""
        usual = quantile(sorted(answer[2] for answer in before), 0.99)
        return next((began - end for began, status, took, _ in after if status == 202 and took <= usual), None)


def connections_of_each(producers):
    """The daemon has them all, and may have as many files open as we may: as many as can be had."""
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(CONNECTIONS, (files - OTHER_FILES) // producers)


def percent(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else ""


def offered_rows(said):
    yield ["of a kind", "posted a second", "accepted a second", "refused (429)", "accepted after p50, p99", "refused after p50, p99"]
    for kind, words in (("routine", "routine"), ("alert", "notable, with an alert"), ("end", "end")):
        statuses, seconds = said["answers"][kind]
        total = sum(statuses.values())
        yield [
            words, f"{total / said['posting']:,.0f}", f"{statuses.get(202, 0) / said['answering']:,.0f}",
            percent(statuses.get(429, 0), total), after(seconds[True]), after(seconds[False]),
        ]  # fmt: skip


def after(seconds):
    """Half and nearly all of the sorted seconds."""
    return f"{quantile(seconds, 0.5) * 1000:,.0f} ms, {quantile(seconds, 0.99) * 1000:,.0f} ms" if seconds else "none"


def probe_rows(said):
    yield ["one routine change each 50 ms, by itself", "posts", "refused (429)", "accepted after p50, p99"]
    for name, words in (("before", "before"), ("during", "under overload"), ("after", "afterwards")):
        answers = said[name]
        seconds = sorted(answer[2] for answer in answers if answer[1] == 202)
        yield [
            words, str(len(answers)), percent(sum(answer[1] == 429 for answer in answers), len(answers)), after(seconds),
        ]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(
        prog="tools/soak overload", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=20, help="how long each of the two loads lasts (default 20)")
    parser.add_argument("--factor", type=float, default=3, help="times what can be accepted (default 3)")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/internals/reliability.md")
    parser.add_argument("--bin", required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not 3 <= options.seconds <= 300 or not 1 <= options.factor <= 10:
        parser.error("--seconds from 3 to 300, --factor from 1 to 10")

    facts = conditions()
    cpus = sorted(os.sched_getaffinity(0))
    ours, theirs = cpus[: (len(cpus) + 1) // 2], cpus[(len(cpus) + 1) // 2 :] or cpus
    # For all that is started from here on.
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    with workplace("overload") as folder:
        os.sched_setaffinity(0, theirs)
        with Simulator(options.bin, folder) as simulator:
            os.sched_setaffinity(0, ours)
            with Cluster(options.bin, folder) as cluster:
                url = cluster.fresh()
                with Daemon(options.bin, url, **simulator.daemon_settings) as daemon:
                    os.sched_setaffinity(0, theirs)
                    overload = Overload(options, cluster, url, daemon, simulator)
                    said = overload.run()
                cluster.drop()
    posted = sum(sum(statuses.values()) for statuses, _ in said["answers"].values()) / said["posting"]
    recovery = f"{said['recovery']:.1f} s" if said["recovery"] is not None else "not within 10 s"
    report = [
        "\n".join(markdown_table(list(offered_rows(said)), left=1)),
        "\n".join(markdown_table(list(probe_rows(said)), left=1)),
        f"{said['capacity']:,.0f} changes a second could be accepted in batches of {BATCH}; {posted / said['capacity']:.1f} times as many were"
        f" posted for {said['posting']} s over {said['connections']:,} connections, and all of them answered after {said['answering']:.1f} s. Answered as before: {recovery} later."
        f" Memory of the daemon at most {overload.peak_mib:.0f} MiB. {said['phones']} phones showed the newest state in the end.",
        f"{facts['date']}, {options.seconds} seconds; {facts['cpu']}, {len(ours)} CPUs for tallyd and Postgres, {len(theirs)} for the"
        f" others, load {facts['load_before']} to {os.getloadavg()[0]:.1f}, {version(program('postgres'), '--version')}.",
    ]
    print("\n\n".join(report))
    if overload.failures:
        raise Failure("; ".join(overload.failures))
    if options.write:
        replace_between(os.path.join(ROOT, "docs", "internals", "reliability.md"), "overload", "\n\n".join(report))
    print("\nNothing that was accepted is lost.")


if __name__ == "__main__":
    command.play("tools/soak overload", main)

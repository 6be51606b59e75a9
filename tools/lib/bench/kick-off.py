"""tools/bench kick-off: a start for every phone, the report of every phone's update token, a goal and the end, beside the
least that Postgres needs for the same rows."""

import os
import time

import command
from cluster import Workbench, server_parser
from credentials import make_certificate
from least import Least
from measure import Failure, say, table
from phases import Phase, limiting, ratios
from phones import Phones
from sink import Sink
from stage import PATH, Stage

ACTIVITY = "kick-off"
# Each with its own connections; also what Apple allows a connection.
STREAMS = 1000


class Bench:
    def __init__(self, options, stage, phones):
        self.options, self.stage, self.phones = options, stage, phones
        self.phases = {}

    def phase(self, name, work):
        """Does a part of the kick-off; what it took goes into `phases`. `work` may say how much CPU the phones used."""
        stage = self.stage
        before = {**stage.cpu(), "sink": stage.sink.cpu}
        wal, disk = stage.written()
        began = time.monotonic()
        said = work() or {}
        seconds = time.monotonic() - began
        after = {**stage.cpu(), "sink": stage.sink.cpu}
        cpu = {part: round(after[part] - before[part], 2) for part in after} | {"phones": round(said.get("cpu", 0), 2)}
        written, stays = (now - then for now, then in zip(stage.written(), (wal, disk)))
        found = Phase(seconds, cpu, written, stays, {name: said[name] for name in ("p50_ms", "p99_ms", "max_ms") if name in said})
        self.phases[name] = found
        say(f"-- {name}: {seconds:.2f} s, {self.options.phones / seconds:,.0f} phones/s; {limiting(found, self.cpus)}")

    def play(self):
        self.cpus = len(os.sched_getaffinity(0))
        stage, count = self.stage, self.options.phones
        say(f"-- {count:,} phones are registered; each gets a ticket")
        said = self.phones.fetch_tickets()
        self.tickets_per_second = round(count / said["seconds"])
        self.phase("registered", self.phones.register)
        self.phones.prepare(ACTIVITY)
        stage.query("VACUUM (ANALYZE)")
        stage.cluster.age()
        stage.settle()

        self.phase("accepted", self.start)
        self.phase("started", lambda: self.pushed(count))
        self.phase("reported", self.phones.report)
        if pushes := stage.sink.counts()["requests"]:
            raise Failure(f"{pushes} phones were sent more than their start before they had anything to be sent")
        self.phase("goal", lambda: self.change("updates", stage.update()))
        self.phase("end", lambda: self.change("end", {"content_state": stage.update()["content_state"]}))
        self.check()

    def start(self):
        body = self.stage.start(ACTIVITY, audience={"all_of_type": True}, alert={"title": "Kick-off", "body": "Argentina against France"})
        self.stage.daemon.call("PUT", f"{PATH}/activities/{ACTIVITY}", body["body"], self.stage.key)

    def pushed(self, count):
        self.stage.wait_for(count, right=True)

    def change(self, what, body):
        self.stage.daemon.call("POST", f"{PATH}/activities/{ACTIVITY}/{what}", body, self.stage.key)
        self.pushed(self.options.phones)

    def check(self):
        """Every phone has one start, and was sent to under the token that it has reported."""
        self.stage.settle()
        sql = (
            "SELECT (SELECT count(*) FROM starts JOIN activities USING (activity_key) WHERE activity_id = '{0}' AND attempts = 1), "
            "(SELECT count(DISTINCT update_token) FROM subscriptions JOIN activities USING (activity_key) WHERE activity_id = '{0}')"
        )
        said = self.stage.query(sql.format(ACTIVITY))
        if said != f"{self.options.phones}|{self.options.phones}":
            raise Failure(f"of {self.options.phones} phones so many were started once, and have a token: {said}")


def report(phases, least, phones, cpus):
    rows = [["", "seconds", "phones/s", "least", "CPU tallyd", "Postgres", "sink", "phones", "WAL", "disk", "limited by"]]
    for name, one in phases.items():
        rows.append([
            name, f"{one.seconds:.2f}", f"{phones / one.seconds:,.0f}" if name != "accepted" else "",
            f"{least[name]:.2f}" if name in least else "",
            *(f"{one.cpu[part]:.2f}" for part in ("daemon", "postgres", "sink", "phones")),
            f"{one.wal / 1e6:,.0f} MB", f"{one.disk / 1e6:,.0f} MB", limiting(one, cpus),
        ])  # fmt: skip
    return list(table(rows))


def main():
    parser = server_parser("kick-off", __doc__, "10,000 phones: a rough look", cpus=2)
    parser.add_argument("--phones", type=command.count, help="how many (default 100000)")
    options = parser.parse_args()
    options.phones = options.phones or (10_000 if options.quick else 100_000)
    with Workbench(options) as workbench:
        folder = workbench.folder
        make_certificate(folder)
        # Starts, changes and ends have bodies of different lengths.
        program = os.path.join(options.bin, "bench-sink")
        with Sink(program, folder, workbench.allowed, 0, streams=STREAMS, strict=True) as sink:
            with Stage(options.bin, folder, workbench.cluster, sink, options.phones, "start-tokens") as stage:
                bench = Bench(options, stage, Phones(options.bin, folder, options.phones, stage))
                bench.play()
                memory = stage.daemon.peak_mib
            say("-- the least that Postgres needs")
            least = Least(folder, stage, options.phones).measure()
    found = ratios(options.phones, bench.phases, least)
    lines = report(bench.phases, least, options.phones, bench.cpus)
    lines.append(
        f"\nall follow after {found['seconds_until_all_follow']:.2f} s, {found['ratio_to_postgres_floor']:.2f} of the least of "
        f"Postgres; reports {found['ratio_to_pgbench_upserts']:.2f} of pgbench with one a commit, registrations "
        f"{found['ratio_of_registrations_to_pgbench_upserts']:.2f}; "
        f"{bench.tickets_per_second:,} tickets/s before; memory of tallyd at most {memory:.0f} MiB"
    )
    parts = {
        "phases": {name: one.json() | {"limited_by": limiting(one, bench.cpus)} for name, one in bench.phases.items()},
        "least": {name: round(value, 3) for name, value in least.items()},
        "tickets_per_second": bench.tickets_per_second,
        "memory_mib": round(memory, 1),
    }
    workbench.report(found, parts, lines)


if __name__ == "__main__":
    command.play("tools/bench kick-off", main)

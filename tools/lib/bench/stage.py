"""A whole `tallyd serve` on a database with many rows, sending to a sink: what a piece of its work costs."""

import json
import os
import time

from callers import Callers
from daemon import Daemon
from measure import Failure, said_by

APP, TYPE, FIRST = "com.example.matchday", "Match", "match-1"
PATH = f"/v1/apps/{APP}"
# The body of an update with such a state has 400 bytes, as in the other benches.
EVENT = "Mbappe scores. " * 17


def state(number):
    return {"clock": 1_000_000 + number, "home_score": 3, "period": "penalties", "last_event": EVENT}


def token(number, kind):
    """160 hex digits that no other number and kind have."""
    return f"{kind:08x}{number:016x}".ljust(160, "0")


class Stage:
    """Used in a `with`. `holds` says what the devices have: `subscriptions`, `start-tokens` or `nothing`."""

    def __init__(self, bin, folder, cluster, sink, devices, holds):
        self.cluster, self.sink = cluster, sink
        self.url = cluster.fresh()
        command = [
            os.path.join(bin, "bench-orchestrator"), "load", "--port", str(sink.port), "--ca", os.path.join(folder, "ca.pem"),
            "--database", self.url, "--devices", str(devices), "--with", holds, "--master-key", Daemon.master_key,
        ]  # fmt: skip
        self.load_seconds = json.loads(said_by(command, timeout=3600))["seconds"]
        self.daemon = Daemon(
            bin, self.url,
            TALLY_APNS_PRODUCTION_DEVICE_URL=f"https://localhost:{sink.port}",
            TALLY_APNS_CA_FILE=os.path.join(folder, "ca.pem"),
        )  # fmt: skip

    def __enter__(self):
        self.daemon.__enter__()
        self.key = self.daemon.call("POST", "/v1/api-keys", {"name": "bench", "scopes": ["publish", "register"]})["secret"]
        self.posted = 0
        self.resting = self.idle(5)
        return self

    def __exit__(self, *arguments):
        self.daemon.__exit__(*arguments)

    def callers(self, count):
        return Callers(self.daemon.url, self.key, count)

    def pace(self, calls, seconds):
        """Makes the calls at an even pace, in so many seconds."""
        calls, began = list(calls), time.monotonic()

        def due():
            for number, call in enumerate(calls):
                time.sleep(max(0, began + number / len(calls) * seconds - time.monotonic()))
                yield call

        self.callers(8).run(due())

    def query(self, sql):
        return self.cluster.query(sql, self.url)

    def batch(self, operations):
        answer = self.daemon.call("POST", f"{PATH}/batch", {"operations": operations}, self.key)
        wrong = [result for result in answer["results"] if not 200 <= result["status"] < 300]
        if wrong:
            raise Failure(f"an operation failed: {wrong[0]}")

    def update(self):
        """The body of an update that no other has."""
        self.posted += 1
        return {"content_state": state(self.posted)}

    def start(self, name, **more):
        attributes = {"home": "Argentina", "away": "France"}
        return {"op": "start", "id": name, "body": {"type": TYPE, "attributes": attributes, "content_state": state(0), **more}}

    def open(self, names, **more):
        """Starts activities that nobody follows, and lets the server know what there is, as autovacuum would in time."""
        for first in range(0, len(names), 1000):
            self.batch([self.start(name, **more) for name in names[first : first + 1000]])
        self.query("VACUUM (ANALYZE)")

    def settle(self):
        """Waits until daemon and server have had next to nothing to do for a second; a minute at most."""
        for _ in range(60):
            before = self.cpu()
            time.sleep(1)
            if sum(self.cpu().values()) - sum(before.values()) < 0.04:
                break
        self.sink.counts()

    def wait_for(self, pushes, limit=1800, right=False):
        """Waits until the sink has seen so many; the moments when it had seen one, and all. `right`: a strict sink has found
        nothing wrong with any of them."""
        seen, first, deadline = 0, None, time.monotonic() + limit
        while seen < pushes:
            counts = self.sink.counts()
            seen += counts["requests"]
            if right and counts["bad"]:
                raise Failure(f"{counts['bad']} pushes were wrong; the first fault: {counts['fault']}")
            first = first or (time.monotonic() if seen else None)
            if time.monotonic() > deadline:
                raise Failure(f"{seen} of {pushes} pushes have come to the sink within {limit} s")
            time.sleep(0.002)
        if seen > pushes:
            raise Failure(f"{pushes} pushes were to be sent, and the sink has seen {seen}")
        return first, time.monotonic()

    def passes(self, devices, rounds):
        """Posts changes to the first activity, one after the other; the seconds of each post, until the first push and until
        the last."""
        posts, firsts, lasts = [], [], []
        for _ in range(rounds):
            began = time.monotonic()
            self.daemon.call("POST", f"{PATH}/activities/{FIRST}/updates", self.update(), self.key)
            posts.append(time.monotonic() - began)
            first, last = self.wait_for(devices)
            firsts.append(first - began)
            lasts.append(last - began)
            # Two changes of one second are stamped apart, and at some point wait for that.
            time.sleep(1.1)
        return posts, firsts, lasts

    def idle(self, seconds):
        """CPU seconds of a second without work."""
        self.settle()
        before = self.cpu()
        time.sleep(seconds)
        return {name: (value - before[name]) / seconds for name, value in self.cpu().items()}

    def cost(self, units, work):
        """What `work` costs for each of its units: CPU of the daemon and of Postgres beyond that of resting, WAL, disk."""
        self.settle()
        wal, disk = self.written()
        cpu, began = self.cpu(), time.monotonic()
        said = work() or {}
        ended = time.monotonic()
        self.settle()
        rested = time.monotonic() - began
        spent = {name: (value - cpu[name] - self.resting[name] * rested) / units * 1e6 for name, value in self.cpu().items()}
        wal, disk = (after - before for after, before in zip(self.written(), (wal, disk)))
        return said | {
            "units": units,
            "per_second": round(units / (ended - began)),
            "daemon_us": round(spent["daemon"], 2),
            "postgres_us": round(spent["postgres"], 2),
            "wal_bytes": round(wal / units, 1),
            "disk_bytes": round(disk / units, 1),
        }

    def cpu(self):
        return {"daemon": self.daemon.cpu, "postgres": self.cluster.cpu}

    def written(self):
        """Bytes of write-ahead log so far, and of all tables with their indexes."""
        said = self.query(
            "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn, (SELECT sum(pg_total_relation_size(oid)) FROM pg_class"
            " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace)"
        )
        return [float(number) for number in said.split("|")]

    def sizes(self):
        """Bytes of the large tables, their indexes apart, and of the database."""
        rows = self.query(
            "SELECT relname, pg_relation_size(oid), pg_indexes_size(oid) FROM pg_class"
            " WHERE relname IN ('devices', 'subscriptions', 'start_tokens') ORDER BY relname"
        ).splitlines()
        tables = {name: {"table": int(table), "indexes": int(indexes)} for name, table, indexes in (row.split("|") for row in rows)}
        return {"database": int(self.query("SELECT pg_database_size(current_database())")), "tables": tables}


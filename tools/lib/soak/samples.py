"""What is looked at during a soak, and what a straight line through it says of an hour."""

import re
import time
from dataclasses import dataclass, field

import measure
from processes import Process


def say(text):
    """Tells what is going on, and when."""
    measure.say(f"{time.strftime('%H:%M:%S')} {text}")


@dataclass
class Sample:
    seconds: float
    # By daemon.
    resident_mib: list
    descriptors: list
    threads: list
    cpu: list
    postgres_cpu: float
    database_mb: float
    dead_rows: int
    wal_mb: float
    tables: int
    partitions: int
    backends: int


class Sampler:
    def __init__(self, cluster, url, daemons):
        self.cluster, self.url = cluster, url
        self.processes = [Process(daemon.process.pid) for daemon in daemons]
        self.began = time.monotonic()
        self.samples = []

    def query(self, sql):
        return self.cluster.query(sql, self.url)

    def take(self):
        said = self.query(
            "SELECT pg_database_size(current_database()),"
            " (SELECT sum(n_dead_tup) FROM pg_stat_user_tables),"
            " pg_current_wal_insert_lsn() - '0/0'::pg_lsn,"
            " (SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace),"
            " (SELECT count(*) FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE relkind = 'r'),"
            " (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend')"
        ).split("|")
        self.samples.append(
            Sample(
                seconds=time.monotonic() - self.began,
                resident_mib=[one.resident / 2**20 for one in self.processes],
                descriptors=[one.descriptors for one in self.processes],
                threads=[one.threads for one in self.processes],
                cpu=[one.cpu for one in self.processes],
                postgres_cpu=self.cluster.cpu,
                database_mb=int(said[0]) / 1e6,
                dead_rows=int(said[1] or 0),
                wal_mb=float(said[2]) / 1e6,
                tables=int(said[3]),
                partitions=int(said[4]),
                backends=int(said[5]),
            )
        )

    def rows(self):
        """Rows of every table, those of its partitions together."""
        counts = {}
        tables = self.query("SELECT relname FROM pg_stat_user_tables ORDER BY relname").splitlines()
        union = " UNION ALL ".join(f"SELECT '{name}', count(*) FROM \"{name}\"" for name in tables)
        for line in self.query(union).splitlines():
            name, count = line.split("|")
            name = re.sub(r"_(\d{8}|default)$", "", name)
            counts[name] = counts.get(name, 0) + int(count)
        return counts

    def vacuums(self):
        return int(self.query("SELECT sum(autovacuum_count) FROM pg_stat_user_tables") or 0)


def per_hour(points):
    """The slope of the line through (seconds, value), by the hour; 0 where there are too few points."""
    if len(points) < 3:
        return 0.0
    middle = sum(x for x, _ in points) / len(points)
    mean = sum(y for _, y in points) / len(points)
    spread = sum((x - middle) ** 2 for x, _ in points)
    return sum((x - middle) * (y - mean) for x, y in points) / spread * 3600 if spread else 0.0


def quantile(values, share):
    return values[min(len(values) - 1, int(len(values) * share))] if values else 0.0


@dataclass
class Interval:
    """A tenth of the soak."""

    until: float
    calls: int
    p50_ms: float
    p99_ms: float
    shown_p50_ms: list = field(default_factory=list)
    shown_p99_ms: list = field(default_factory=list)

"""What the phases of a kick-off say: their ratios, and what each was limited by."""

from dataclasses import dataclass, field

# What people wait for; the goal and the end come later.
UNTIL_ALL_FOLLOW = ("accepted", "started", "reported")
# From this share of all CPUs on, nothing else can be the limit.
BUSY = 0.85
NAMES = {"daemon": "tallyd", "postgres": "Postgres", "sink": "the sink", "phones": "the phones"}


@dataclass
class Phase:
    seconds: float
    # CPU seconds by process.
    cpu: dict
    # Bytes of write-ahead log, and of what stays in tables and indexes.
    wal: float
    disk: float
    waits: dict = field(default_factory=dict)

    def json(self):
        return {
            "seconds": round(self.seconds, 3),
            "cpu_seconds": self.cpu,
            "wal_bytes": round(self.wal),
            "disk_bytes": round(self.disk),
            **self.waits,
        }


def limiting(phase, cpus):
    """What the phase waited for: the CPUs, and who used most of them, or something else."""
    share = sum(phase.cpu.values()) / (phase.seconds * cpus)
    most = max(phase.cpu, key=phase.cpu.get)
    part = phase.cpu[most] / max(sum(phase.cpu.values()), 1e-9)
    words = f"{NAMES[most]} {part:.0%} of it"
    return f"CPU, {words}" if share >= BUSY else f"waiting; CPU {share:.0%}, {words}"


def ratios(phones, phases, least):
    """The fields of the JSON. The other's time is divided by Tally's: more is better."""
    until = sum(phases[name].seconds for name in UNTIL_ALL_FOLLOW)
    floor = sum(least.get(name, 0) for name in UNTIL_ALL_FOLLOW)
    upserts = least["upserts_per_second"]
    return {
        "phones": phones,
        "seconds_until_all_follow": round(until, 3),
        "ratio_to_postgres_floor": round(floor / until, 3),
        "ratio_to_pgbench_upserts": round(phones / phases["reported"].seconds / upserts, 3),
        "ratio_of_registrations_to_pgbench_upserts": round(phones / phases["registered"].seconds / upserts, 3),
    }

"""What an installation needs: arithmetic on measured costs. No files, no clock, nothing but numbers in and out."""

import math
from dataclasses import dataclass

# Up to so many destinations an activity is small: each of its pushes has a row in the timeline.
SMALL = 1_000
# How many pushes of a large one share a row.
BATCH = 2_560
# Update tokens of an activity in one ring, above which it is divided, and into how many rings (docs/internals/decisions/rings.md).
RING, MOST_RINGS = 50_000, 4
# Up to so many a second come one by one: no group shares what a commit, or a turn, costs.
LONE = 100


@dataclass(frozen=True)
class Costs:
    """Measured on one machine; `of` says of each kind of work what one unit of it costs."""

    of: dict
    # Of one daemon that has the machine to itself, but for Postgres and what it sends to.
    pushes_per_second: float
    # Of a ring, while it is the only one that the daemon walks.
    ring_pushes_per_second: float
    # Passes along one ring, from short to long: how many pushes, and the seconds from the post to the last.
    passes: list
    starts_per_second: float
    # First reports of phones with tickets, over HTTP on many connections.
    reports_per_second: float
    # From the post of a change to the first push of it.
    first_seconds: float
    # On disk, with indexes: a device with its start token, and one with an update token of one activity.
    start_token_bytes: float
    subscription_bytes: float
    # A database in which nothing is.
    empty_bytes: float

    @classmethod
    def measured(cls, said):
        """From the object that `tools/bench scale` writes as `costs`."""
        return cls(
            of={name: one for name, one in said.items() if "daemon_us" in one},
            pushes_per_second=said["push"]["per_second"],
            ring_pushes_per_second=said["ring"]["per_second"],
            passes=said["ring"]["passes"],
            starts_per_second=said["start"]["per_second"],
            reports_per_second=said["phone_report"]["per_second"],
            first_seconds=said["push"]["first_ms"] / 1000,
            start_token_bytes=said["bytes"]["start-tokens"],
            subscription_bytes=said["bytes"]["subscriptions"],
            empty_bytes=said["bytes"]["empty"],
        )

    def cpu(self, work, seconds=0, daemons=1):
        """CPU seconds of all daemons together, and of Postgres, for so many units of each kind of work."""
        idle = self.of["idle"]
        return tuple(
            (sum(units * self.of[name][who] for name, units in work.items()) + idle[who] * seconds * daemons) / 1e6
            for who in ("daemon_us", "postgres_us")
        )

    def wal(self, work):
        """Bytes of write-ahead log."""
        return sum(units * self.of[name]["wal_bytes"] for name, units in work.items())

    def disk(self, work):
        """Bytes that stay, with indexes."""
        return sum(units * self.of[name]["disk_bytes"] for name, units in work.items())

    def subscriptions_bytes(self, count):
        """A database with so many devices that follow one activity by update tokens."""
        return self.empty_bytes + count * self.subscription_bytes

    def pass_rate(self, pushes, daemons=1, rings=MOST_RINGS):
        """How many pushes a second of a change to so many update tokens."""
        rings = max(1, min(rings, math.ceil(pushes / RING)))
        # A daemon takes half of an activity's rings and, if nobody else takes them, the others when it has walked those.
        walks = rings if daemons > 1 else math.ceil(rings / 2)
        return min(walks * self.ring_pushes_per_second, min(daemons, rings) * self.pushes_per_second)

    def pass_seconds(self, pushes, daemons=1, rings=MOST_RINGS):
        """From the post of a change until so many update tokens have been sent it.

        A short pass is between the measured ones; a longer one goes on from the longest of them with all its rings.
        """
        for (few, earlier), (many, later) in zip(self.passes, self.passes[1:]):
            if pushes <= many:
                return max(0, earlier + (pushes - few) * (later - earlier) / (many - few))
        return later + (pushes - many) / self.pass_rate(pushes, daemons, rings)

    def follow_seconds(self, phones):
        """From the post of a start for so many phones until the last has reported its update token, if all report at once."""
        return phones / self.starts_per_second + phones / self.reports_per_second

    def at_pace(self, name, per_second):
        """The work that such of it is reckoned as when so much comes: its kind, and how much of that.

        What comes faster than one by one shares groups, but costs no less for that than what still came one by one.
        """
        lone, few = f"lone_{name}", min(per_second, LONE)
        if few * self.of[lone]["daemon_us"] > per_second * self.of[name]["daemon_us"]:
            return lone, few
        return name, per_second


@dataclass(frozen=True)
class Plan:
    devices: int
    activities: int = 1
    # Of each activity.
    updates_per_minute: float = 1
    # The part of the devices that is reached by a channel.
    on_channels: float = 0
    minutes: float = 120
    # In which all devices are started, and report their tokens unless they are on a channel.
    start_minutes: float = 10
    # Of the machine of each daemon, and of the primary.
    daemon_cores: int = 4
    postgres_cores: int = 16
    connections_per_daemon: int = 16
    # How much of a machine is planned for.
    busy: float = 0.6
    # Into how many rings the cards of an activity are divided, so how many daemons can work for it at a time.
    rings: int = MOST_RINGS
    apns_round_trip: float = 0.1
    apns_streams: int = 1000

    def __post_init__(self):
        if self.devices < 1 or self.activities < 1 or not 0 <= self.on_channels <= 1 or not 0 < self.busy <= 1:
            raise ValueError("at least one device and one activity, a share from 0 to 1, and machines that are used")
        if min(self.updates_per_minute, self.minutes, self.start_minutes, self.daemon_cores, self.postgres_cores) <= 0:
            raise ValueError("rates, times and cores must be greater than 0")


@dataclass(frozen=True)
class Phase:
    """A stretch of time with even work."""

    name: str
    seconds: float
    # Cores that are busy on average.
    daemon_cores: float
    postgres_cores: float
    pushes_per_second: float
    wal_bytes_per_second: float


@dataclass(frozen=True)
class Need:
    phases: list
    daemons: int
    # Of Postgres, when the busiest phase is to fit into its seconds.
    postgres_cores: int
    database_connections: int
    apns_connections: int
    # From a change to its last phone, by token.
    reach_seconds: float
    # How often a change finds the one before still on its way; above 1, phones skip states.
    changes_per_pass: float
    disk_bytes: float
    rows: int
    rows_per_day: float
    # The shortest time in which the primary that was planned can start all phones, and take their reports.
    primary_minutes: float
    # The same for the one worker that claims and sends the starts of an activity.
    claim_minutes: float


def need(costs, plan):
    by_token = plan.devices * (1 - plan.on_channels)
    changes = plan.activities * plan.updates_per_minute / 60
    # A walk that is overtaken goes on with the newest state, and a ring has one daemon: no more is sent than so many can.
    most = plan.activities * costs.pass_rate(by_token / plan.activities, daemons=plan.rings, rings=plan.rings)
    pushes = min(by_token * plan.updates_per_minute / 60, most)
    # Where many follow one activity, the state has mostly moved on when a card's token arrives, and reports share their work.
    seconds = plan.start_minutes * 60
    report, reports = "late_report", by_token
    if plan.devices / plan.activities <= SMALL:
        report, reports = costs.at_pace("report", by_token / seconds)
        reports *= seconds
    starting = {"start": plan.devices, report: reports, "channel": plan.activities if plan.on_channels else 0}
    change, posts = ("broadcast", changes) if plan.on_channels else costs.at_pace("change", changes)
    playing = {change: posts, "push": pushes}
    phases = [
        phase(costs, "start", {name: units / seconds for name, units in starting.items()}, seconds, plan.devices / seconds),
        phase(costs, "play", playing, plan.minutes * 60, pushes),
    ]
    daemon_cores = max(one.daemon_cores for one in phases)
    daemons = max(
        1, math.ceil(daemon_cores / (plan.daemon_cores * plan.busy)), math.ceil(pushes / costs.pushes_per_second)
    )
    postgres_cores = max(one.postgres_cores for one in phases)
    reach = costs.pass_seconds(by_token / plan.activities, daemons, plan.rings)
    return Need(
        phases=phases,
        daemons=daemons,
        postgres_cores=max(1, math.ceil(postgres_cores / plan.busy)),
        database_connections=daemons * plan.connections_per_daemon,
        apns_connections=max(1, math.ceil(max(one.pushes_per_second for one in phases) * plan.apns_round_trip / plan.apns_streams)),
        reach_seconds=reach if by_token else costs.first_seconds,
        changes_per_pass=reach * plan.updates_per_minute / 60 if by_token else 0,
        disk_bytes=costs.empty_bytes + plan.devices * costs.start_token_bytes + costs.disk(starting),
        # A device, its start token, its start and its card.
        rows=4 * plan.devices,
        rows_per_day=rows_per_day(plan, by_token),
        primary_minutes=costs.cpu(starting)[1] / (plan.postgres_cores * plan.busy) / 60,
        claim_minutes=plan.devices / plan.activities / costs.starts_per_second / 60,
    )  # fmt: skip


def phase(costs, name, per_second, seconds, pushes):
    daemon, postgres = costs.cpu(per_second, 1)
    return Phase(name, seconds, daemon, postgres, pushes, costs.wal(per_second))


def rows_per_day(plan, by_token):
    """Rows that one such event a day leaves behind: starts, cards, changes and what the timeline keeps of the pushes."""
    changes = plan.activities * plan.updates_per_minute * plan.minutes
    # The timeline has a row for each push of a small activity, and one for each batch of a large one.
    size = by_token / plan.activities
    pushes = changes * (size if size <= SMALL else math.ceil(size / BATCH))
    return 2 * plan.devices + changes + pushes

"""tools/bench console: how fast each page of the console is on a large database, and what 500 browsers that follow one match cost."""

import os
import time

import command
import fill
from cluster import Cluster, program, workplace
from credentials import make_certificate
from daemon import ADMIN, Daemon
from followed import Followed
from measure import Failure, commit, conditions, say, table, version
from processes import Process
from sink import Sink
from visitor import Visitor

LIMIT_MS, LIMIT_SHARE = 150, 0.05
BROWSERS, KEYS = 500, 10
# A change of a match comes every five seconds: a livelier one than any that is played.
PACE = 5


def pages(size):
    """The addresses of each page; a number from 1 on chooses what it is about."""
    app = f"app={fill.APP}"
    activity = lambda n: f"{app}&id=match-{1 + n % size.activities}"  # noqa: E731
    device = lambda n: f"phone-{1 + n % size.devices}"  # noqa: E731
    return {
        "now": lambda n: f"/console?{app}",
        "activities": lambda n: f"/console/activities?{app}",
        "activities, live": lambda n: f"/console/activities?{app}&q=state:live",
        "activities, a part of an id": lambda n: f"/console/activities?{app}&q=atch-{1 + n % size.activities}",
        "the match room": lambda n: f"/console/activity?{activity(n)}",
        "the match room, one phone": lambda n: f"/console/activity?{activity(n)}&device={fill.follower(size, n)}",
        "post a change": lambda n: f"/console/activity/change?{activity(n)}",
        "the audience": lambda n: f"/console/activity/audience?{activity(n)}",
        "the end": lambda n: f"/console/activity/end?{activity(n)}",
        "phones": lambda n: f"/console/phones?{app}",
        "phones, of a user": lambda n: f"/console/phones?{app}&q=user:fan-{1 + n % size.devices}",
        "phones, four digits of a token": lambda n: f"/console/phones?{app}&q=token:{fill.token(size, n)[:4]}",
        "phones, a whole token": lambda n: f"/console/phones?{app}&q=token:{fill.token(size, n)}",
        "phones, an unknown id": lambda n: f"/console/phones?{app}&q=nobody-{n}",
        "a phone": lambda n: f"/console/phone?{app}&id={device(n)}",
        "the search": lambda n: f"/console/find?{app}&q={device(n)}",
        "channels": lambda n: f"/console/channels?{app}",
        "a channel": lambda n: f"/console/channel?{app}&id={fill.identity('channel', 1 + n % size.activities)}",
        "a channel, gone": lambda n: f"/console/channel?{app}&id={fill.identity('nothing', n)}",
        "types": lambda n: f"/console/types?{app}",
        "a type": lambda n: f"/console/type?{app}&name={fill.TYPE}",
        "a policy": lambda n: f"/console/type/policy?{app}&name={fill.TYPE}",
        "schedules": lambda n: f"/console/schedules?{app}",
        "schedules, pending": lambda n: f"/console/schedules?{app}&state=pending",
        "a schedule": lambda n: f"/console/schedule?{app}&id={fill.identity('schedule', 1 + n % size.activities)}",
        "events": lambda n: f"/console/events?{app}",
        "events, of a match": lambda n: f"/console/events?{app}&activity=match-{1 + n % size.activities}",
        "halts": lambda n: f"/console/halts?{app}",
        "a halt, gone": lambda n: f"/console/halt?{app}&environment=production",
        "API keys": lambda n: "/console/api-keys",
        "audit": lambda n: f"/console/audit?{app}",
        "doctor": lambda n: f"/console/doctor?{app}",
    }


def share(values, part):
    """The value that so much of them does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def measure_pages(daemon, size, rounds):
    """Milliseconds of each page, whose requests come one after the other, each about something else."""
    visitor, found = Visitor(daemon.url, ADMIN), {}
    for name, address in pages(size).items():
        # Statements are planned on the first visits.
        for n in range(6):
            visitor.get(address(7919 * n + 1))
        times = []
        for n in range(rounds):
            began = time.monotonic()
            status, body = visitor.get(address(104_729 * n + 13))
            times.append((time.monotonic() - began) * 1000)
            if status != (404 if name.endswith(", gone") else 303 if name == "the search" else 200):
                raise Failure(f"{address(104_729 * n + 13)} was answered with {status}: {body[:300]}")
        found[name] = {"p50_ms": round(share(times, 0.5), 1), "p99_ms": round(share(times, 0.99), 1), "bytes": len(body)}
        say(f"   {name}: p50 {found[name]['p50_ms']} ms, p99 {found[name]['p99_ms']} ms")
    return found


def measure_browsers(daemon, size, seconds):
    """The CPU of tallyd while changes come, without browsers and with them."""
    keys = [daemon.call("POST", "/v1/api-keys", {"name": f"looks-{n}", "scopes": ["read"]})["secret"] for n in range(KEYS)]
    process, cpu, renewals = Process(daemon.process.pid), {}, 0
    for count in (0, BROWSERS):
        with Followed(daemon, keys, count, fill.APP, "match-1") as followed:
            # Everybody has connected, and statements are planned.
            followed.play(PACE, 2 * PACE)
            before, renewed = process.cpu, followed.renewals
            followed.play(PACE, seconds)
            cpu[count] = (process.cpu - before) / seconds
            renewals = followed.renewals - renewed
        say(f"   {count} browsers: {cpu[count] * 100:.2f} % of a core, {renewals} renewals in {seconds} s")
    if renewals < BROWSERS * seconds / PACE * 0.9:
        raise Failure(f"{renewals} renewals in {seconds} s are too few: the browsers did not follow")
    return {
        "browsers": BROWSERS,
        "seconds_between_changes": PACE,
        "renewals": renewals,
        "seconds": seconds,
        "without_share_of_core": round(cpu[0], 4),
        "with_share_of_core": round(cpu[BROWSERS], 4),
        "share_of_core": round(cpu[BROWSERS] - cpu[0], 4),
    }


def main():
    parser = command.parser("console", __doc__, "100,000 subscriptions, and fewer visits")
    parser.add_argument("--rounds", type=command.count, help="visits of each page (default 200, with --quick 50)")
    options = parser.parse_args()
    size = fill.Size(100_000, 1_000) if options.quick else fill.Size(10_000_000, 10_000)
    rounds = options.rounds or (50 if options.quick else 200)
    facts = conditions()
    with workplace("bench") as folder:
        make_certificate(folder)
        sink = Sink(os.path.join(options.bin, "bench-sink"), folder, os.sched_getaffinity(0), 400, streams=1000)
        with Cluster(options.bin, folder) as cluster, sink:
            url = cluster.fresh()
            daemon = Daemon(
                options.bin, url,
                TALLY_APNS_PRODUCTION_DEVICE_URL=f"https://localhost:{sink.port}",
                TALLY_APNS_PRODUCTION_BROADCAST_URL=f"https://localhost:{sink.port}",
                TALLY_APNS_PRODUCTION_CHANNELS_URL=f"https://localhost:{sink.port}",
                # The sink has no list of channels.
                TALLY_LOG_LEVEL="critical",
                TALLY_APNS_CA_FILE=os.path.join(folder, "ca.pem"),
            )  # fmt: skip
            daemon.migrate()
            began = time.monotonic()
            fill.fill(cluster, url, size)
            say(f"-- {size.subscriptions:,} subscriptions of {size.activities:,} activities, in {time.monotonic() - began:.0f} s")
            with daemon:
                fill.sign(daemon)
                found = measure_pages(daemon, size, rounds)
                browsers = measure_browsers(daemon, size, 20 if options.quick else 60)
            cluster.drop()
    facts |= {
        "load_after": round(os.getloadavg()[0], 2),
        "commit": commit(),
        "postgres": version(program("postgres"), "--version"),
        "subscriptions": size.subscriptions,
        "activities": size.activities,
        "visits of each page": rounds,
    }
    rows = [["page", "p50", "p99", "size", ""]]
    for name, one in found.items():
        slow = "over the limit" if one["p99_ms"] > LIMIT_MS else ""
        rows.append([name, f"{one['p50_ms']:.1f} ms", f"{one['p99_ms']:.1f} ms", f"{one['bytes'] / 1000:.0f} kB", slow])
    cost = browsers["share_of_core"]
    line = (
        f"{BROWSERS} browsers that follow one match, a change every {PACE} s: {cost * 100:.2f} % of a core"
        f" ({browsers['without_share_of_core'] * 100:.2f} % without them)"
    )
    limit = "" if cost <= LIMIT_SHARE else ", over the limit"
    command.report(options, {}, {"pages": found, "browsers": browsers}, facts, [*table(rows), "", line + limit])


if __name__ == "__main__":
    command.play("tools/bench console", main)

"""How the daemon fares with more and more subscriptions of one activity, and with everything at a time."""

import threading
import time

from callers import Callers
from measure import median, say
from stage import FIRST, PATH, Stage, token


def grow(bin, folder, cluster, sink, devices):
    """Sizes, and the times of an accept, a first push, a whole pass and a registration with so many devices."""
    with Stage(bin, folder, cluster, sink, devices, "subscriptions") as stage:
        sizes = stage.sizes()
        rounds = 9 if devices <= 100_000 else 3 if devices <= 1_000_000 else 2
        found = []
        # Statements are planned, and long rings are divided.
        stage.passes(devices, 1)
        cost = stage.cost(devices * rounds, lambda: found.extend(stage.passes(devices, rounds)))
        accept, first, last = map(median, found)
        registrations = register(stage, 200)
        result = sizes | {
            "load_seconds": round(stage.load_seconds, 1),
            "accept_ms": round(accept * 1000, 2),
            "first_push_ms": round(first * 1000, 1),
            "pass_seconds": round(last, 4),
            "us_per_push": round(last / devices * 1e6, 2),
            "daemon_us": cost["daemon_us"],
            "postgres_us": cost["postgres_us"],
            "registration_ms": round(median(registrations) * 1000, 2),
            "memory_mib": round(stage.daemon.resident_mib, 1),
        }
    say(
        f"   {devices:,}: loaded in {result['load_seconds']:,.0f} s, {sizes['database'] / 1e6:,.0f} MB; accept {result['accept_ms']:.1f} ms,"
        f" first push {result['first_push_ms']:.0f} ms, {result['us_per_push']:.1f} us a push, a registration {result['registration_ms']:.1f} ms"
    )
    return result


def register(stage, count):
    """One after the other: a device with its card of the large activity, which has its newest state."""
    newest = stage.posted + 1
    calls = [
        (
            "PUT", f"{PATH}/activities/{FIRST}/subscriptions/late-{n}",
            {"environment": "production", "update_token": token(n, 4), "generation": 1, "known_revision": newest},
        )
        for n in range(count)
    ]  # fmt: skip
    return Callers(stage.daemon.url, stage.key, 1).run(calls)


def mixed(bin, folder, cluster, sink, devices, seconds):
    """Changes to all, changes to nobody and reports, side by side at an even pace; what that costs together."""
    # Slower than what the costs of lone work were taken at.
    per_second = {"change": 30, "report": 45}
    passes = max(2, seconds // 5)
    with Stage(bin, folder, cluster, sink, devices, "subscriptions") as stage:
        names = [f"quiet-{n}" for n in range(500)]
        stage.open(names + [f"still-{n}" for n in range(500)])
        counts = {name: rate * seconds for name, rate in per_second.items()}
        device = {"environment": "production"}
        calls = {
            "change": lambda n: ("POST", f"{PATH}/activities/{names[n % 500]}/updates", stage.update()),
            "report": lambda n: (
                "PUT", f"{PATH}/activities/still-{n % 500}/subscriptions/late-{n}",
                device | {"update_token": token(n + 10_000, 5), "generation": 1, "known_revision": 1},
            ),
        }  # fmt: skip

        # Statements are planned, and the daemon has seen every activity.
        for call in calls.values():
            stage.callers(16).run([call(-1 - n) for n in range(1_000)])

        def work():
            began = time.monotonic()
            threads = [
                threading.Thread(target=stage.pace, args=([calls[name](n) for n in range(count)], seconds))
                for name, count in counts.items()
            ]
            for thread in threads:
                thread.start()
            for turn in range(passes):
                time.sleep(max(0, began + turn * seconds / passes - time.monotonic()))
                stage.daemon.call("POST", f"{PATH}/activities/{FIRST}/updates", stage.update(), stage.key)
                stage.wait_for(devices)
            for thread in threads:
                thread.join()

        began = time.monotonic()
        spent = stage.cost(1, work)
        elapsed = time.monotonic() - began
    say(f"   mixed work: {spent}")
    return {
        "work": {f"lone_{name}": count for name, count in counts.items()} | {"push": devices * passes},
        "seconds": round(elapsed, 1),
        "daemon_seconds": round(spent["daemon_us"] / 1e6, 2),
        "postgres_seconds": round(spent["postgres_us"] / 1e6, 2),
    }

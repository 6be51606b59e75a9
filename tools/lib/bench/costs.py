"""What one of each costs: an accepted change, a push, a start, a registration, a report, a channel and a broadcast."""

import time

from daemon import Daemon
from measure import Failure, median, say
from phones import Phones
from simulator import Simulator
from stage import FIRST, PATH, TYPE, Stage, token

CALLERS = 32
BATCH = 1000
# The server plans a statement anew for the first five times on each of 16 connections: work that comes before what is measured.
WARM = 1_000


def told(name, cost):
    say(f"   {name}: {cost['daemon_us']:,.1f} us of tallyd, {cost['postgres_us']:,.1f} us of Postgres, {cost['per_second']:,}/s")
    return cost


class Costs:
    """`scale` divides every count, for a rough look."""

    def __init__(self, bin, folder, cluster, sink, scale=1):
        self.bin, self.folder, self.cluster, self.sink, self.scale = bin, folder, cluster, sink, scale

    def measure(self):
        many = 200_000 // self.scale
        costs = {}
        with Stage(self.bin, self.folder, self.cluster, self.sink, many, "subscriptions") as stage:
            costs |= self.changes(stage)
            costs |= self.pushes(stage, many)
            costs |= self.reports(stage)
            costs["idle"] = {f"{name}_us": round(value * 1e6) for name, value in stage.resting.items()}
        with Stage(self.bin, self.folder, self.cluster, self.sink, 50_000 // self.scale, "start-tokens") as stage:
            costs |= self.starts(stage, 50_000 // self.scale)
        costs |= self.kick_off(50_000 // self.scale)[0]
        costs |= self.ring()
        costs |= self.lone()
        costs |= self.channels()
        return costs

    def changes(self, stage):
        """Accepting alone: nobody follows these activities."""
        names = [f"quiet-{number}" for number in range(500)]
        stage.open(names)
        count = 8_000 // self.scale

        def posts(count):
            calls = [("POST", f"{PATH}/activities/{names[n % 500]}/updates", stage.update()) for n in range(count)]
            stage.callers(CALLERS).run(calls)

        posts(WARM)
        costs = {"change": told("a change", stage.cost(count, lambda: posts(count)))}
        turns = max(2, 20 // self.scale)

        def batches():
            for _ in range(turns):
                stage.batch([{"op": "update", "id": names[n % 500], "body": stage.update()} for n in range(BATCH)])

        costs["batched_change"] = told("a change of a batch", stage.cost(turns * BATCH, batches))
        return costs

    def pushes(self, stage, many):
        """Changes to an activity that all devices follow."""
        rounds, found = 5, []
        cost = stage.cost(many * rounds, lambda: found.extend(stage.passes(many, rounds)))
        _, first, last = map(median, found)
        cost["per_second"] = round(many / (last - first))
        cost["first_ms"] = round(first * 1000, 1)
        return {"push": told("a push", cost)}

    def ring(self):
        """Changes to activities of one ring, from short to long: a pass takes something once, and gathers speed."""
        rounds, passes = 9, []
        for count in (500 // self.scale, 5_000 // self.scale, 40_000 // self.scale):
            found = []
            with Stage(self.bin, self.folder, self.cluster, self.sink, count, "subscriptions") as stage:
                stage.passes(count, 1)
                cost = stage.cost(count * rounds, lambda: found.extend(stage.passes(count, rounds)))
            passes.append([count, round(median(found[-1]), 5)])
        (before, earlier), (many, seconds) = passes[-2:]
        cost["per_second"] = round((many - before) / (seconds - earlier))
        cost["passes"] = passes
        return {"ring": told("a push along one ring", cost)}

    def lone(self):
        """Changes, and reports of new devices, one by one at an even pace: no group shares what each costs."""
        count, seconds, names = 2_000 // self.scale, 20 // self.scale, [f"lone-{number}" for number in range(500)]
        device = {"environment": "production", "generation": 1, "known_revision": 1}
        # Beside many others: what is planned for empty tables is not what a running server does.
        with Stage(self.bin, self.folder, self.cluster, self.sink, 200_000 // self.scale, "subscriptions") as stage:
            stage.open(names)
            calls = {
                "change": lambda n: ("POST", f"{PATH}/activities/{names[n % 250]}/updates", stage.update()),
                "report": lambda n: (
                    "PUT", f"{PATH}/activities/{names[250 + n % 250]}/subscriptions/new-{n}", device | {"update_token": token(n, 6)},
                ),
            }  # fmt: skip
            costs = {}
            for name, call in calls.items():
                stage.callers(CALLERS).run([call(number) for number in range(count, count + WARM)])
                some = [call(number) for number in range(count)]
                costs[f"lone_{name}"] = told(f"a lone {name}", stage.cost(count, lambda: stage.pace(some, seconds)))
        return costs

    def reports(self, stage):
        """Devices that register, then report a card, of one activity each; the card is owed nothing, or a push."""
        count = 4_000 // self.scale
        names = [f"one-{number}" for number in range(WARM + count)]
        stage.open(names)
        device = {"environment": "production", "os_version": "18.1"}
        everyone = range(WARM + count)
        registered = [
            ("PUT", f"{PATH}/devices/new-{n}", device | {"start_tokens": {TYPE: {"token": token(n, 1), "generation": 1}}})
            for n in everyone
        ]
        reported = [
            ("PUT", f"{PATH}/activities/{names[n]}/subscriptions/new-{n}", {"update_token": token(n, 2), "generation": 1, "known_revision": 1})
            for n in everyone
        ]  # fmt: skip
        owed = [
            ("PUT", f"{PATH}/activities/{FIRST}/subscriptions/new-{n}", {"update_token": token(n, 3), "generation": 1})
            for n in everyone
        ]  # fmt: skip
        costs = {}
        run = stage.callers(CALLERS).run
        run(registered[:WARM])
        run(reported[:WARM])
        costs["registration"] = told("a registration", stage.cost(count, lambda: run(registered[WARM:]) and None))
        costs["report"] = told("a report of a token", stage.cost(count, lambda: run(reported[WARM:]) and None))
        run(owed[:WARM])
        stage.wait_for(WARM)

        def catch_up():
            run(owed[WARM:])
            stage.wait_for(count)

        costs["late_report"] = told("a report with its push", stage.cost(count, catch_up))

        def singles(first, count):
            for start in range(first, first + count, BATCH):
                some = names[start : min(start + BATCH, first + count)]
                stage.batch([{"op": "update", "id": name, "body": stage.update()} for name in some])
            stage.wait_for(count)

        singles(0, WARM)
        costs["single"] = told("a change of a batch to one phone", stage.cost(count, lambda: singles(WARM, count)))
        return costs

    def starts(self, stage, count):
        """One activity that every device is started for."""

        return {"start": told("a start", stage.cost(count, lambda: self.start_all(stage, count)))}

    def start_all(self, stage, count):
        """Starts the activity, and waits until every device was sent its start."""
        body = stage.start("all", audience={"all_of_type": True}, alert={"title": "Kick-off", "body": "Argentina against France"})["body"]
        stage.daemon.call("PUT", f"{PATH}/activities/all", body, stage.key)
        stage.wait_for(count)

    def kick_off(self, count):
        """So many phones register with tickets, are started and report their update tokens: what a phone costs, and the seconds
        from the post of the start until all follow."""
        with Stage(self.bin, self.folder, self.cluster, self.sink, count, "start-tokens") as stage:
            phones = Phones(self.bin, self.folder, count, stage)
            phones.fetch_tickets()
            registered = stage.cost(count, lambda: phones.register() and None)
            phones.prepare("all")
            stage.query("VACUUM (ANALYZE)")
            self.cluster.age()
            stage.settle()
            began = time.monotonic()
            self.start_all(stage, count)
            started = time.monotonic() - began
            reported = stage.cost(count, lambda: phones.report() and None)
        costs = {
            "phone_registration": told("a phone registers at kick-off", registered),
            "phone_report": told("a phone reports at kick-off", reported),
        }
        return costs, started + count / reported["per_second"]

    # --- Channels -----------------------------------------------------------------------------------------------------

    def channels(self):
        """Activities with a channel each at the simulator, which makes channels as Apple does."""
        count = 4_000 // self.scale
        with Simulator(self.bin, self.folder) as simulator:
            stage = ChannelStage(self, simulator)
            with stage:
                made = stage.cost(count, lambda: stage.lease(count))
                stage.query("VACUUM (ANALYZE)")
                stage.broadcast(count)
                # A channel takes one change a second: stamps do not run ahead of the clock.
                time.sleep(2)
                sent = stage.cost(count, lambda: stage.broadcast(count))
        return {"channel": told("a channel", made), "broadcast": told("a change of a batch with its broadcast", sent)}


class ChannelStage(Stage):
    """A stage that sends to a simulator and not to a sink."""

    def __init__(self, costs, simulator):
        super().__init__(costs.bin, costs.folder, costs.cluster, costs.sink, 1, "nothing")
        self.simulator = simulator
        self.daemon = Daemon(costs.bin, self.url, **simulator.daemon_settings)

    def broadcasts(self):
        """How many updates Apple has answered with 200 so far."""
        requests = self.simulator.call("GET", "/summary", b"")["requests"]
        return sum(one["count"] for one in requests if one["event"] == "update" and one["status"] == 200)

    def lease(self, count):
        """Starts activities, and waits until each has a channel."""
        self.batches([self.start(f"channel-{n}", delivery="channel") for n in range(count)])
        deadline = time.monotonic() + 120
        while len(self.simulator.call("GET", "/channels", b"")["items"]) < count:
            if time.monotonic() > deadline:
                raise Failure("the channels were not made within two minutes")
            time.sleep(0.05)

    def broadcast(self, count):
        """A change of each."""
        before, deadline = self.broadcasts(), time.monotonic() + 60
        self.batches([{"op": "update", "id": f"channel-{n}", "body": self.update()} for n in range(count)])
        while self.broadcasts() < before + count:
            if time.monotonic() > deadline:
                raise Failure(f"{self.broadcasts() - before} of {count} broadcasts were answered within a minute")
            time.sleep(0.02)

    def batches(self, operations):
        for place in range(0, len(operations), BATCH):
            self.batch(operations[place : place + BATCH])

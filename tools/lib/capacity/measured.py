"""The one place of measured costs, and what the model predicts for the measurements that it was not made from."""

import json
import os

from model import Costs

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "measured.json")


def read(path=PATH):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def checks(said):
    """(what, unit, predicted, measured) for every measurement that has nothing to do with how the costs were found."""
    costs = Costs.measured(said["costs"])
    rows = []
    for size, one in sorted(said.get("growth", {}).items(), key=lambda item: int(item[0])):
        count = int(size)
        rows.append((f"a change to {count:,} update tokens", "s", costs.pass_seconds(count), one["pass_seconds"]))
    for size, one in sorted(said.get("growth", {}).items(), key=lambda item: int(item[0])):
        count = int(size)
        rows.append((f"disk of {count:,} subscriptions", "MB", costs.subscriptions_bytes(count) / 1e6, one["database"] / 1e6))
    for name, one in said.get("mixed", {}).items():
        # Both are without what is spent at rest.
        daemon, postgres = costs.cpu(one["work"])
        rows.append((f"CPU of tallyd, {name}", "s", daemon, one["daemon_seconds"]))
        rows.append((f"CPU of Postgres, {name}", "s", postgres, one["postgres_seconds"]))
    for size, seconds in said.get("kick_off", {}).items():
        count = int(size)
        rows.append((f"kick-off, until {count:,} phones follow", "s", costs.follow_seconds(count), seconds))
    return rows

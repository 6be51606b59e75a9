"""Draws the plots of the README from what was measured: see --help."""

import argparse
import json
import math
import re
import sys
from pathlib import Path

from svg import Drawing

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tools/lib/bench"))
import ratios as measured_ratios  # noqa: E402
from ratios import NAMES, points  # noqa: E402

FOLLOWERS = ROOT / "docs/internals/measured/followers.json"
RELIABILITY = ROOT / "docs/internals/reliability.md"
IMAGES = ROOT / "docs/images"
# Seconds within which everything has to be right after a fault, with the settings of tools/chaos.
PROMISE = 15


def duration(seconds):
    """With two digits that count."""
    if seconds < 1:
        return f"{float(f'{seconds * 1000:.2g}'):g} ms"
    return f"{float(f'{seconds:.2g}'):g} s"


def fan_out(said):
    """The time of a change to all followers, by their number, on two logarithmic scales."""
    found = sorted((int(count), one) for count, one in said["followers"].items())
    facts = said["conditions"]
    largest, last = found[-1]
    drawing = Drawing(
        760, 446, "Fan-out time by number of followers",
        f"A change to {largest:,} followers: the last push arrives after {duration(last['seconds'])}. "
        f"h2load takes {duration(last['h2load_seconds'])} for as many requests.",
    )  # fmt: skip
    left, right, top, bottom = 70, 610, 70, 350
    times = [one[name] for _, one in found for name in ("seconds", "h2load_seconds", "first_push_seconds")]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    least, most = math.log10(found[0][0]), math.log10(largest)

    def place(count, seconds):
        return (
            left + (math.log10(count) - least) / (most - least) * (right - left),
            bottom - (math.log10(seconds) - low) / (high - low) * (bottom - top),
        )

    drawing.text(20, 30, "One change to all followers, by update token", "title")
    drawing.text(20, 50, "Median time from the POST until the push has arrived at a server that stands in for APNs", "soft")
    for power in range(low, high + 1):
        _, y = place(found[0][0], 10**power)
        drawing.line(left, y, right, y, "grid")
        drawing.text(left - 8, y + 4, duration(10**power), "soft", "end")
    for count, _ in found:
        x, _ = place(count, 10**low)
        drawing.line(x, bottom, x, bottom + 5, "axis")
        drawing.text(x, bottom + 20, f"{count:,}", "soft", "middle")
    drawing.line(left, bottom, right, bottom, "axis")
    drawing.text((left + right) / 2, bottom + 38, "followers", "soft", "middle")
    ends = []
    for name, words, of in (
        ("seconds", "Tally: last push", "ours"),
        ("h2load_seconds", "h2load: last request", "theirs"),
        ("first_push_seconds", "Tally: first push", "faint dashed"),
    ):
        points = [place(count, one[name]) for count, one in found]
        drawing.path(points, of)
        ends.append([points[-1][1], f"{words}, {duration(last[name])}", of.split()[0]])
    # Labels that would lie on each other move apart.
    ends.sort()
    for upper, lower in zip(ends, ends[1:]):
        lower[0] = max(lower[0], upper[0] + 17)
    for y, words, of in ends:
        drawing.text(right + 8, y + 4, words.split(", ")[0], of)
    for count, one in found:
        x, y = place(count, one["seconds"])
        drawing.text(x, y - 9, duration(one["seconds"]), "ours", "middle")
    drawing.text(20, 412, "h2load sends as many requests to the same server, without a database, rules or retries.", "soft")
    drawing.text(
        20, 430,
        f"{facts['date'][:10]}, commit {facts['commit']}, release build. Daemon, Postgres and that server share {facts['cpus']} CPUs "
        f"({facts['cpu']}).",
        "soft",
    )  # fmt: skip
    return str(drawing)


ROW = re.compile(r"^\| `([a-z-]+)` \| [^|]* \| (\d+) \|.* \| ([\d.]+) s \(([\d.]+) s\) \|$", re.M)
WORDS = {
    "apns-broken": "APNs answers half with 500",
    "apns-certificate": "APNs' certificate expires",
    "apns-cut": "connections to APNs are cut",
    "apns-environment": "wrong APNs host, sending halts",
    "apns-goaway": "APNs closes connections (GOAWAY)",
    "apns-gone": "30 % of the tokens die at once",
    "apns-key": "the signing key is revoked",
    "apns-lost-answers": "APNs answers get lost",
    "apns-silence": "APNs ignores every fifth request",
    "apns-slow": "APNs reads slowly",
    "apns-streams": "APNs takes one request at a time",
    "apns-throttled-tokens": "APNs throttles tokens (429)",
    "apns-throttled-topic": "APNs throttles the app (429)",
    "apns-unavailable": "APNs answers 503 for 2 min",
    "clock": "a daemon's clock is an hour off",
    "four-daemons": "of 4 daemons one is paused, one killed",
    "kill": "the only daemon is killed (SIGKILL)",
    "postgres-connections": "Postgres has no connection left",
    "postgres-failover": "the Postgres primary is killed, failover",
    "postgres-full": "the Postgres disk is full",
    "postgres-kill": "Postgres is killed (SIGKILL)",
    "postgres-restart": "Postgres is restarted",
    "postgres-slow": "Postgres is 50 ms away",
    "postgres-unreachable": "the network to Postgres is silent",
    "sigterm": "the only daemon is restarted",
    "two-daemons": "of 2 daemons one is paused, one killed",
    "upgrade": "rolling upgrade with a migration",
}


def ratios(runs):
    """A small panel for each ratio: its values by commit, and a line where Tally and the other are equal."""
    panels = [(words, found) for (part, field), words in NAMES.items() if (found := points(runs, part, field))]
    columns, width, height, top = 3, 300, 96, 66
    lines = math.ceil(len(panels) / columns)
    drawing = Drawing(
        columns * width + 20, top + lines * height + 34, "Ratios by commit",
        f"{len(panels)} ratios of Tally to other programs, measured at {len(runs)} commits. More is better.",
    )  # fmt: skip
    drawing.text(20, 30, "Ratios by commit", "title")
    drawing.text(20, 50, "Tally beside the other program in the same run. Dashed: both are equal. More is better.", "soft")
    for number, (words, found) in enumerate(panels):
        left, upper = 20 + number % columns * width, top + number // columns * height
        drawing.text(left, upper + 12, words, "soft")
        low, high = 0, max(1.2, *(value * 1.1 for _, value in found))
        # A commit has the same place in each panel, wherever it was measured.
        places = {id(run): left + 10 + runs.index(run) * (width - 90) / max(1, len(runs) - 1) for run, _ in found}

        def level(value):
            return upper + 82 - (value - low) / (high - low) * 58

        drawing.line(left, level(1), left + width - 70, level(1), "theirs dashed")
        drawing.path([(places[id(run)], level(value)) for run, value in found], "ours")
        run, last = found[-1]
        drawing.text(left + width - 64, level(last) + 4, f"{last:.2f}", "ours")
    drawing.text(20, top + lines * height + 18, f"{runs[0]['date'][:10]}, commit {runs[0]['commit']}, to {runs[-1]['date'][:10]}, commit {runs[-1]['commit']}.", "soft")
    return str(drawing)


def recoveries(page):
    """Of each fault: how many runs, the median and the longest recovery; and the days of the runs."""
    rows = [(name, int(seeds), float(median), float(longest)) for name, seeds, median, longest in ROW.findall(page)]
    return rows, sorted(set(re.findall(r"^(\d{4}-\d\d-\d\d);", page, re.M)))


def recovery(page):
    """The time until every phone was right after each fault, the longest first."""
    rows, days = recoveries(page)
    rows.sort(key=lambda row: -row[2])
    left, right, top, step = 290, 690, 90, 21
    bottom = top + step * len(rows)
    slowest = max(row[3] for row in rows)
    drawing = Drawing(
        760, bottom + 70, "Recovery time by fault",
        f"{len(rows)} faults. The longest recovery took {slowest:g} s, and the promise is {PROMISE} s.",
    )  # fmt: skip

    def place(seconds):
        return left + seconds / (PROMISE + 1) * (right - left)

    drawing.text(20, 30, "Recovery after a fault, under load", "title")
    drawing.text(20, 50, "From the end of the fault until every simulated phone shows the newest state", "soft")
    drawing.text(20, 68, "Bar: median. Line: longest run.", "soft")
    for seconds in range(0, PROMISE + 1, 5):
        drawing.line(place(seconds), top - 6, place(seconds), bottom, "grid")
        drawing.text(place(seconds), bottom + 18, f"{seconds} s", "soft", "middle")
    for number, (name, _, median, longest) in enumerate(rows):
        y = top + step * number
        drawing.text(left - 10, y + 12, WORDS.get(name, name), "", "end")
        drawing.bar(left, y + 2, place(median) - left, 13, "ours")
        drawing.line(place(median), y + 8.5, place(longest), y + 8.5, "ours")
        drawing.text(place(longest) + 6, y + 12, f"{median:g} s", "soft")
    drawing.line(place(PROMISE), top - 6, place(PROMISE), bottom, "theirs dashed")
    drawing.text(place(PROMISE), top - 12, "promise", "theirs", "middle")
    runs = sum(row[1] for row in rows)
    drawing.text(
        20, bottom + 48, f"{days[0]} to {days[-1]}, {runs} runs of {len(rows)} faults, debug build on a busy machine: upper bounds.", "soft"
    )  # fmt: skip
    return str(drawing)


def drawn():
    """Each picture by the name of its file."""
    return {
        "fan-out.svg": fan_out(json.loads(FOLLOWERS.read_text(encoding="utf-8"))),
        "recovery.svg": recovery(RELIABILITY.read_text(encoding="utf-8")),
        "ratios.svg": ratios(measured_ratios.read()),
    }


def main():
    parser = argparse.ArgumentParser(
        prog="tools/plots",
        description="Draws docs/images/fan-out.svg from docs/internals/measured/followers.json, which is the output of "
        "'tools/bench followers --json', docs/images/recovery.svg from the tables in docs/internals/reliability.md, "
        "which tools/chaos writes, and docs/images/ratios.svg from docs/internals/measured/ratios.json, which tools/bench writes.",
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a plot is not current")
    options = parser.parse_args()
    plots = drawn()
    stale = [name for name, text in plots.items() if not (IMAGES / name).is_file() or (IMAGES / name).read_text(encoding="utf-8") != text]
    if options.check:
        for name in stale:
            print(f"docs/images/{name} is not current: run tools/plots", file=sys.stderr)
        return 1 if stale else 0
    IMAGES.mkdir(exist_ok=True)
    for name in stale:
        (IMAGES / name).write_text(plots[name], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""tools/bench NAME --against REF: the bench of another commit and of this one in turn, and which figures got slower."""

import argparse
import json
import os
import subprocess
import sys

import command
from measure import Failure, conditions, median, said_by, say, table, to_json

ROOT = os.path.normpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
# The other commit is checked out here, and keeps its build for the next time.
OTHER = os.path.join(ROOT, ".build", "against")
# A figure that got worse by more than this share is told of, and ends the command with 1.
LIMIT = 0.10
# What the name of a figure says of its direction; the first that fits counts.
MORE_IS_BETTER = ("per_second", "ratio", "per_core")
LESS_IS_BETTER = ("_seconds", "_ms", "_us", "_ns", "_bytes", "_mib", "_kib", "us_per_push", "seconds_until_all_follow", "cpu")


def figures(value, path=()):
    """All numbers of a report whose direction is known, by their path. Rows of a list are told apart by their `name`, or by
    their place."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key != "conditions":
                yield from figures(part, (*path, key))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            name = part.get("name", place) if isinstance(part, dict) else place
            yield from figures(part, (*path, str(name)))
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and direction(path):
        yield path, float(value)


def direction(path):
    """1: more is better; -1: less is; 0: nobody knows."""
    for name in reversed(path):
        if any(part in name for part in MORE_IS_BETTER):
            return 1
        if any(name.endswith(part) or name.startswith(part) for part in LESS_IS_BETTER):
            return -1
    return 0


def compare(theirs, ours):
    """A row for each figure that both have: the median of each side, and how much better this commit is. 0.1: by a tenth."""
    theirs, ours = ([dict(figures(one)) for one in side] for side in (theirs, ours))
    rows = []
    for path in theirs[0]:
        sides = [[one[path] for one in side if path in one] for side in (theirs, ours)]
        if not all(sides):
            continue
        before, after = (median(side) for side in sides)
        # Nothing can be said of a figure that was nothing.
        if before > 0 and after > 0:
            better = after / before - 1 if direction(path) > 0 else before / after - 1
            rows.append({"name": " ".join(path), "before": before, "after": after, "better": round(better, 4)})
    return rows


def slower(rows):
    return [row for row in rows if row["better"] < -LIMIT]


def written(number):
    return f"{number:,.0f}" if number >= 100 else f"{float(f'{number:.3g}'):g}"


def lines(rows, ref):
    yield from table(
        [("figure", ref, "this commit", "better by")]
        + [(row["name"], written(row["before"]), written(row["after"]), f"{row['better']:+.0%}") for row in rows]
    )
    worse = slower(rows)
    yield ""
    if worse:
        yield f"{len(worse)} of {len(rows)} figures got worse by more than {LIMIT:.0%}:"
        yield from (f"  {row['name']}: {row['better']:+.0%}" for row in worse)
    else:
        yield f"None of {len(rows)} figures got worse by more than {LIMIT:.0%}."


def check_out(ref):
    """Puts the other commit beside this one; its short name."""
    try:
        commit = said_by(["git", "-C", ROOT, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}"]).strip()
    except Failure:
        raise Failure(f"there is no commit '{ref}'") from None
    if os.path.exists(os.path.join(OTHER, ".git")):
        said_by(["git", "-C", OTHER, "checkout", "--quiet", "--force", "--detach", commit])
    else:
        said_by(["git", "-C", ROOT, "worktree", "prune"])
        said_by(["git", "-C", ROOT, "worktree", "add", "--quiet", "--force", "--detach", OTHER, commit])
    return commit[:8]


def measure(root, name, arguments):
    """One run of a commit's own bench, which builds its programs the first time."""
    done = subprocess.run([os.path.join(root, "tools", "bench"), name, "--json", *arguments], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Failure(f"tools/bench {name} of {os.path.relpath(root, ROOT)} ended with {done.returncode}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(prog="tools/bench NAME", description=__doc__.split(": ", 1)[1])
    parser.add_argument("name", help=argparse.SUPPRESS)
    parser.add_argument("--against", metavar="REF", required=True, help="the commit to compare with, as git takes it")
    parser.add_argument("--rounds-of-both", type=command.count, default=2, metavar="N", help="runs of each commit (default 2)")
    parser.add_argument("--json", action="store_true", help="print one object instead of a table")
    options, arguments = parser.parse_known_args()
    commit = check_out(options.against)
    reports = {OTHER: [], ROOT: []}
    for number in range(options.rounds_of_both):
        # The order changes, because a machine gets warm and a disk full.
        for root in (OTHER, ROOT) if number % 2 == 0 else (ROOT, OTHER):
            say(f"-- round {number + 1} of {options.rounds_of_both}: {commit if root == OTHER else 'this commit'}")
            reports[root].append(measure(root, options.name, arguments))
    rows = compare(reports[OTHER], reports[ROOT])
    if not rows:
        raise Failure(f"the two reports of '{options.name}' have no figure in common")
    if options.json:
        print(to_json({"against": commit, "conditions": conditions(), "figures": rows, "slower": len(slower(rows))}))
    else:
        print("\n".join(lines(rows, commit)))
    sys.exit(1 if slower(rows) else 0)


if __name__ == "__main__":
    command.play("bench", main)

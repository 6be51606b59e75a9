"""How the commands of tools/bench and tools/soak are asked, how they end, and how the benches say what they have found."""

import argparse
import signal
import sys

from measure import Failure, to_json


def count(text):
    """A number from 1 on: for arguments."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def parser(name, description, quick=None, rounds=None):
    """What every bench can be asked. `rounds`: how many if nobody says, and what they are."""
    parser = argparse.ArgumentParser(prog=f"tools/bench {name}", description=description)
    parser.add_argument("--json", action="store_true", help="print one object instead of a table")
    if quick:
        parser.add_argument("--quick", action="store_true", help=quick)
    if rounds:
        number, words = rounds
        parser.add_argument("--rounds", type=count, default=number, help=f"{words} (default {number})")
    parser.add_argument("--bin", required=True, help=argparse.SUPPRESS)
    return parser


def report(options, ratios, parts, facts, lines):
    """Prints a table's lines and the conditions; with --json one object, and those beside it."""
    conditions = [f"{name}: {value}" for name, value in facts.items()]
    print("\n".join([*lines, "", *conditions]), file=sys.stderr if options.json else sys.stdout, flush=True)
    if options.json:
        print(to_json({**ratios, "conditions": facts, **parts}))


def play(name, main):
    """Runs the command with that name; a Failure is one line and exit code 1.

    Told to end by a signal it unwinds, so that whatever it has started ends as well, and is not disturbed meanwhile.
    """
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def end(number, _):
        for one in signals:
            signal.signal(one, signal.SIG_IGN)
        raise SystemExit(128 + number)

    for one in signals:
        # What was ignored from the start, as by nohup, goes on being so.
        if signal.getsignal(one) != signal.SIG_IGN:
            signal.signal(one, end)
    try:
        main()
    except Failure as failure:
        sys.exit(f"{name}: {failure}")

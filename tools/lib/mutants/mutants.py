"""tools/mutants: how many small wrong changes the tests notice."""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from catalogue import load
from failure import Failure
from package import TESTS, prepare
from trial import Trials
from weave import woven

ROOT = Path.cwd()
FOLDER = ROOT / ".build" / "mutants"


def options():
    parser = argparse.ArgumentParser(
        prog="tools/mutants",
        description="Applies small wrong changes to the code that keeps the promises, one at a time, and reports which of them the tests notice.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only mutants whose name begins so, such as 'budget/'")
    parser.add_argument("--sample", type=int, metavar="N", help="only N of them, picked by chance")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="which ones --sample picks (default 1)")
    parser.add_argument("--jobs", type=int, default=max(1, os.cpu_count() or 1), metavar="J", help="mutants tried at once (default: one for each processor)")
    parser.add_argument("--lives", type=int, default=1000, metavar="L", help="simulated lives that a mutant has to survive (default 1000)")
    parser.add_argument("--list", action="store_true", help="list the mutants and try none")
    parser.add_argument("--weave", action="store_true", help="only check that every mutant still fits the sources")
    parser.add_argument("--json", action="store_true", help="print one object; what goes on is said on standard error")
    return parser.parse_args()


def chosen(mutants, names, sample, seed):
    """Numbers and mutants that are to be tried."""
    some = [(n, m) for n, m in enumerate(mutants, 1) if not names or any(m.name.startswith(name) for name in names)]
    if not some:
        raise Failure(f"no mutant is called {' or '.join(names)}; see --list")
    if sample is None:
        return some
    # Those that no test can notice tell nothing of the tests.
    real = [pair for pair in some if not pair[1].equivalent]
    return sorted(random.Random(seed).sample(real, min(sample, len(real))))


def build():
    """The program that holds all mutants and all tests."""
    began = time.monotonic()
    paths = ["--package-path", str(FOLDER / "package"), "--scratch-path", str(FOLDER / "build")]
    say(f"Building {' and '.join(TESTS)} with all mutants")
    built = subprocess.run(["swift", "build", *paths, "--build-tests"], stdout=sys.stderr)
    if built.returncode != 0:
        raise Failure("the sources with the mutants do not build; what is wrong stands above")
    folder = subprocess.run(["swift", "build", *paths, "--show-bin-path"], capture_output=True, text=True, check=True).stdout.strip()
    say(f"Built in {time.monotonic() - began:.0f} s")
    return Path(folder) / "tallyPackageTests.xctest"


def say(text):
    print(text, file=sys.stderr, flush=True)


def main():
    asked = options()
    mutants = load()
    if asked.list:
        for mutant in mutants:
            print(f"{mutant.name}\t{mutant.file}")
        return
    tried = chosen(mutants, asked.names, asked.sample, asked.seed)
    files = woven(mutants, ROOT)
    if asked.weave:
        print(f"{len(mutants)} mutants fit the sources.")
        return
    prepare(FOLDER / "package", ROOT, files)
    trials = Trials(build(), asked.lives)
    equivalent = [mutant for _, mutant in tried if mutant.equivalent]
    real = [(number, mutant) for number, mutant in tried if not mutant.equivalent]
    began = time.monotonic()
    outcomes = try_all(trials, real, asked.jobs)
    report(asked, tried, outcomes, equivalent, time.monotonic() - began)
    if any(outcome.killed_by is None for outcome in outcomes):
        sys.exit(1)


def try_all(trials, real, jobs):
    # A mutant counts as noticed by a failed test: without one no test may fail.
    for _, arguments, lives in trials.stages("^(ActivityModelTests|APNSTransportTests)[.]")[:2]:
        evidence = trials.failure(0, arguments, lives)
        if evidence:
            raise Failure(f"the tests fail without a mutant: {evidence}")
    outcomes = []
    with ThreadPoolExecutor(jobs) as pool:
        tasks = [pool.submit(trials.run, *pair) for pair in real]
        try:
            for task in as_completed(tasks):
                outcome = task.result()
                outcomes.append(outcome)
                verdict = f"killed by {outcome.killed_by}" if outcome.killed_by else "SURVIVED"
                took = f"{outcome.seconds:.0f} s"
                say(f"{len(outcomes)}/{len(real)}  {outcome.name}: {verdict}, {took}  {outcome.evidence[:160]}")
        finally:
            # What is told to end begins no other, and waits for none.
            pool.shutdown(wait=False, cancel_futures=True)
            trials.end_all()
    return outcomes


def report(asked, tried, outcomes, equivalent, seconds):
    survived = [outcome for outcome in outcomes if outcome.killed_by is None]
    killed = [outcome for outcome in outcomes if outcome.killed_by]
    if asked.json:
        print(json.dumps({
            "mutants": len(tried),
            "killed": len(killed),
            "equivalent": len(equivalent),
            "survived": len(survived),
            "seconds": round(seconds),
            "seed": asked.seed if asked.sample else None,
            "survivors": [outcome.name for outcome in survived],
            "results": [vars(outcome) for outcome in outcomes],
        }, indent=2))
        return
    print(f"{len(tried)} mutants: {len(killed)} killed, {len(survived)} survived, {len(equivalent)} equivalent; {seconds / 60:.0f} min")
    for stage in ["suites", "lives", "unit tests"]:
        print(f"  killed by {stage:11}{sum(outcome.killed_by == stage for outcome in killed):5}")
    for outcome in survived:
        print(f"  survived: {outcome.name}")
    for mutant in equivalent:
        print(f"  equivalent: {mutant.name}: {mutant.equivalent}")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        main()
    except Failure as failure:
        sys.exit(f"tools/mutants: {failure}")

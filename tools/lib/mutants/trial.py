"""Tries one mutant: runs tests with it until one fails."""

import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass

#: So many lives come before the unit tests: most mutants that a life notices are noticed by one of these.
FIRST_LIVES = 100
#: Tests that need what the package leaves out, or look at the folders of the project.
SKIPPED = "SwiftTypeTests|[.]TypeTests/|ForeignServerTests|ManyRequestsTests"
#: Those of the console try its own mutants alone.
UNIT_TESTS = "^(?!SimulationTests|ConsoleTests)[^.]+[.]"
#: A process that takes longer hangs, which counts as noticed. Without a mutant none takes a third of it.
SECONDS = 1800


@dataclass
class Outcome:
    """What became of a mutant."""

    name: str
    #: What noticed it: `suites`, `lives`, `unit tests`; None if nothing did.
    killed_by: str | None
    #: The first line that says so.
    evidence: str
    seconds: float


class Trials:
    def __init__(self, program, lives):
        self.program = program
        self.lives = lives
        self.running = set()

    def stages(self, suites):
        """What is run, in this order, until something fails: names, arguments, and the seeds of the lives."""
        width = ["--skip", SKIPPED, "--experimental-maximum-parallelization-width", "4"]
        lives = ["--filter", "^SimulationTests[.].*keepsPromises"]
        first = min(self.lives, FIRST_LIVES)
        stages = [
            ("suites", ["--filter", suites, *width], None),
            ("lives", lives, f"1-{first}"),
            ("unit tests", ["--filter", UNIT_TESTS, *width], None),
        ]
        return stages + ([("lives", lives, f"{first + 1}-{self.lives}")] if first < self.lives else [])

    def run(self, number, mutant):
        began = time.monotonic()
        for stage, arguments, lives in self.stages(mutant.suites):
            evidence = self.failure(number, arguments, lives)
            if evidence:
                return Outcome(mutant.name, stage, evidence, time.monotonic() - began)
        return Outcome(mutant.name, None, "", time.monotonic() - began)

    def failure(self, number, arguments, lives=None):
        """The first line of a run that says what failed; none if nothing did."""
        environment = {**os.environ, "TALLY_MUTANT": str(number), "SWIFT_DETERMINISTIC_HASHING": "1"}
        if lives:
            # One life is the same for the same seed only in one thread.
            environment |= {"TALLY_SIMULATION_SEEDS": lives, "LIBDISPATCH_COOPERATIVE_POOL_STRICT": "1"}
        with tempfile.TemporaryFile("w+") as log:
            process = subprocess.Popen(
                [self.program, "--testing-library", "swift-testing", *arguments],
                stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True,
            )
            self.running.add(process)
            try:
                return self.watch(process, log, time.monotonic() + SECONDS)
            finally:
                self.end(process)
                self.running.discard(process)

    def watch(self, process, log, deadline):
        seen = 0
        while True:
            code = process.poll()
            # The process writes at the end of the same file, whose place in it we must not move.
            text = os.pread(log.fileno(), 1 << 24, seen).decode(errors="replace")
            complete = text[: text.rfind("\n") + 1]
            seen += len(complete.encode())
            for line in complete.splitlines():
                if line.startswith("✘"):
                    return line
            if code is not None:
                return None if code == 0 else f"exit code {code}"
            if time.monotonic() > deadline:
                return "hangs"
            time.sleep(0.1)

    def end(self, process):
        """Its Postgres ends with it, and the next process removes the data."""
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()

    def end_all(self):
        for process in list(self.running):
            self.end(process)

"""What every bench needs: processes whose CPU time is known, the conditions of a run, and tables."""

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass


CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


class Failure(Exception):
    """The bench cannot say anything that could be trusted."""


def say(text):
    """Tells what is going on, apart from what is found."""
    print(text, file=sys.stderr, flush=True)


def said_by(command, **settings):
    """What a command prints; anything but success is a Failure."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, **settings)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(error) from None
    if done.returncode != 0:
        raise Failure(f"{os.path.basename(command[0])} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.stdout


@dataclass
class Run:
    """One process from its start to its end."""

    seconds: float
    # User and system time of the whole process.
    cpu: float
    peak_kib: int
    output: str


def run(command, cpus, deadline=600):
    """Runs a command on the given CPUs alone and waits for it; anything but success is a Failure."""
    with tempfile.TemporaryFile("w+") as output:
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=output, preexec_fn=lambda: os.sched_setaffinity(0, cpus))
        is_late = threading.Event()

        def give_up():
            is_late.set()
            process.kill()

        guard = threading.Timer(deadline, give_up)
        guard.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            guard.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - began
        output.seek(0)
        text = output.read()
    if process.returncode != 0:
        name = os.path.basename(command[0])
        if is_late.is_set():
            raise Failure(f"{name} was at work for {deadline} s and was stopped: {text[-500:]}")
        raise Failure(f"{name} ended with {process.returncode}: {text[-500:]}")
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, text)


def cpu_of(pid):
    """The CPU seconds of a running process of one thread, to the nanosecond."""
    with open(f"/proc/{pid}/schedstat") as file:
        return int(file.read().split()[0]) / 1e9


def busy(cpus):
    """The seconds that these CPUs have been busy with anything."""
    total = 0
    with open("/proc/stat") as file:
        for line in file:
            name, *fields = line.split()
            if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in cpus:
                user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, fields[:8])
                total += user + nice + system + irq + softirq + steal
    return total / CLOCK_TICKS


def version(*command):
    """The first line of what a program says of its version."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except OSError:
        return "not installed"
    return (result.stdout or result.stderr).strip().splitlines()[0]


def commit():
    """Which version of the sources is measured."""
    here = os.path.dirname(os.path.abspath(__file__))
    try:
        return said_by(["git", "-C", here, "describe", "--always", "--dirty"]).strip()
    except Failure:
        return "unknown"


def conditions():
    """The machine and its state; a figure without them means nothing."""
    model = "unknown"
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "cpu": model,
        "cpus": os.cpu_count(),
        "kernel": platform.release(),
        "load_before": round(os.getloadavg()[0], 2),
    }


def median(values):
    return statistics.median(values)


def table(rows):
    """Lines of text; the first row is the head, and numbers stand to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(
            text.ljust(width) if column == 0 else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths))
        ).rstrip()


def to_json(value):
    return json.dumps(value, indent=2)

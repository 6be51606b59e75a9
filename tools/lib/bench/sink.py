"""The server that all clients of the transport bench send to."""

import json
import os
import signal
import subprocess

from measure import Failure, cpu_of
from processes import Program


class Sink(Program):
    """A running sink, pinned to CPUs of its own; used in a `with`."""

    def __init__(self, program, folder, cpus, body, **options):
        self.command = [
            program, "--certificate", os.path.join(folder, "server.pem"), "--key", os.path.join(folder, "server.key"),
            "--body", str(body),
        ]  # fmt: skip
        for name, value in options.items():
            self.command.append("--" + name.replace("_", "-"))
            if value is not True:
                self.command.append(str(value))
        self.cpus = cpus

    def start(self):
        return subprocess.Popen(
            self.command,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, self.cpus),
        )

    def come_up(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failure("the sink did not start")
        self.port = int(line)

    @property
    def cpu(self):
        return cpu_of(self.process.pid)

    def counts(self):
        """What it has counted since it was last asked."""
        self.process.send_signal(signal.SIGUSR1)
        return json.loads(self.process.stdout.readline())

"""The server that all clients of the transport bench send to."""

import json
import os
import signal
import subprocess

from measure import Failure, cpu_of


def make_certificate(folder):
    """An authority and a certificate for localhost, in files that only this run uses."""

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    for name in ("ca", "server"):
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key")
    openssl(
        "req", "-x509", "-new", "-key", "ca.key", "-days", "2", "-subj", "/CN=bench", "-out", "ca.pem",
        "-addext", "basicConstraints=critical,CA:TRUE",
    )  # fmt: skip
    openssl("req", "-new", "-key", "server.key", "-subj", "/CN=localhost", "-out", "server.csr")
    with open(os.path.join(folder, "names"), "w") as file:
        file.write("subjectAltName=DNS:localhost,IP:127.0.0.1")
    openssl(
        "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
        "-out", "server.pem", "-extfile", "names",
    )  # fmt: skip


class Sink:
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

    def __enter__(self):
        self.process = subprocess.Popen(
            self.command,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, self.cpus),
        )
        line = self.process.stdout.readline()
        if not line:
            raise Failure("the sink did not start")
        self.port = int(line)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()

    @property
    def cpu(self):
        return cpu_of(self.process.pid)

    def counts(self):
        """What it has counted since it was last asked."""
        self.process.send_signal(signal.SIGUSR1)
        return json.loads(self.process.stdout.readline())

"""The private, durable Postgres server of a bench, and pgbench on it."""

import glob
import os
import re
import subprocess

from measure import Failure

TICKS = os.sysconf("SC_CLK_TCK")


def program(name):
    """A program of the newest PostgreSQL of this machine; Debian keeps them off the PATH."""
    found = glob.glob(f"/usr/lib/postgresql/*/bin/{name}")
    return max(found, key=lambda path: int(path.split("/")[4])) if found else name


class Cluster:
    """A running server; used in a `with`. It ends with this process, and its data with the folder."""

    def __init__(self, bin, folder):
        self.command = [os.path.join(bin, "bench-orchestrator"), "database", "--folder", os.path.join(folder, "cluster")]
        self.count = 0

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline().split()
        if len(line) != 2:
            raise Failure("PostgreSQL did not start")
        self.pid, self.url = int(line[0]), line[1]
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def query(self, sql, url=None):
        result = subprocess.run(
            [program("psql"), "-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-c", sql, url or self.url],
            capture_output=True, text=True,
        )  # fmt: skip
        if result.returncode != 0:
            raise Failure(f"psql: {result.stderr.strip()}")
        return result.stdout.strip()

    def fresh(self):
        """The URL of a new database with the tables of this version, and nothing in them."""
        self.drop()
        self.count += 1
        self.query(f"CREATE DATABASE figure_{self.count} TEMPLATE tally_template")
        return re.sub("[^/]+$", f"figure_{self.count}", self.url)

    def drop(self):
        self.query(f"DROP DATABASE IF EXISTS figure_{self.count}")

    @property
    def cpu(self):
        """The CPU seconds of the server with all its processes, those that are over included."""
        total = 0
        with open(f"/proc/{self.pid}/task/{self.pid}/children") as file:
            children = file.read().split()
        for pid, fields in [(self.pid, slice(11, 15))] + [(child, slice(11, 13)) for child in children]:
            try:
                with open(f"/proc/{pid}/stat") as file:
                    total += sum(map(int, file.read().rsplit(")", 1)[1].split()[fields]))
            except FileNotFoundError:
                pass  # It has ended since, and counts with the server.
        return total / TICKS

    def settings(self):
        names = ("synchronous_commit", "fsync", "full_page_writes", "shared_buffers", "wal_sync_method")
        return {name: self.query(f"SHOW {name}") for name in names}

    def pgbench(self, script, clients, seconds):
        """Transactions per second of a script, prepared statements."""
        result = subprocess.run(
            [
                program("pgbench"), "-n", "-M", "prepared", "-c", str(clients), "-j", "1", "-T", str(seconds),
                "-f", script, self.url,
            ],
            capture_output=True, text=True,
        )  # fmt: skip
        found = re.search(r"tps = ([0-9.]+)", result.stdout)
        if result.returncode != 0 or not found:
            raise Failure(f"pgbench: {result.stderr[-500:]}")
        return float(found.group(1))

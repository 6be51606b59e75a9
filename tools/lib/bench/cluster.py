"""The private, durable Postgres server of a bench, pgbench on it, and what all benches with a server do alike."""

import contextlib
import glob
import os
import re
import subprocess
import tempfile

import command
from measure import CLOCK_TICKS, Failure, conditions, said_by, version
from processes import Program


def program(name):
    """A program of the newest PostgreSQL of this machine; Debian keeps them off the PATH."""
    found = glob.glob(f"/usr/lib/postgresql/*/bin/{name}")
    return max(found, key=lambda path: int(path.split("/")[4])) if found else name


@contextlib.contextmanager
def workplace(name):
    """A folder of its own for a run, which is gone after it."""
    with tempfile.TemporaryDirectory(prefix=f"tally-{name}-", dir="/var/tmp") as folder:
        # Postgres does not run as root, and has to come by here; its own folder is nobody else's.
        os.chmod(folder, 0o711)
        yield folder


class Cluster(Program):
    """A running server; used in a `with`. It ends with this process, and its data with the folder."""

    def __init__(self, bin, folder, shared_buffers=None):
        place = os.path.join(folder, "cluster")
        self.command = [os.path.join(bin, "bench-orchestrator"), "database", "--folder", place]
        if shared_buffers:
            self.command += ["--shared-buffers", shared_buffers]
        # What the server says, and its write-ahead log.
        self.log, self.wal = os.path.join(place, "server.log"), os.path.join(place, "data", "pg_wal")
        self.count = 0

    def start(self):
        return subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def come_up(self):
        line = self.process.stdout.readline().split()
        if len(line) != 2:
            raise Failure("PostgreSQL did not start")
        self.pid, self.url = int(line[0]), line[1]

    def stop(self):
        """It goes on for as long as its input is open."""
        self.process.stdin.close()

    def query(self, sql, url=None):
        words = [program("psql"), "-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-c", sql, url or self.url]
        return said_by(words).strip()

    def configure(self, settings):
        """Changes settings that need no restart; for the rest of its life."""
        for name, value in settings.items():
            self.query(f"ALTER SYSTEM SET {name} = '{value}'")
        self.query("SELECT pg_reload_conf()")

    def fresh(self):
        """The URL of a new database with the tables of this version, and nothing in them."""
        self.drop()
        self.count += 1
        self.query(f"CREATE DATABASE figure_{self.count} TEMPLATE tally_template")
        return re.sub("[^/]+$", f"figure_{self.count}", self.url)

    def drop(self):
        self.query(f"DROP DATABASE IF EXISTS figure_{self.count}")

    def age(self):
        """Gives the server the write-ahead log of one that has been at work for a while: files that it uses again.

        A new one makes, fills and syncs 16 MiB before it uses them for the first time, and every commit waits for that. Whoever
        writes more log is kept waiting more often, until the first checkpoints; it says nothing of the days after.
        """
        self.query(
            "DO $$ BEGIN FOR file IN 1..60 LOOP PERFORM pg_logical_emit_message(false, 'bench', ''); "
            "PERFORM pg_switch_wal(); END LOOP; END $$"
        )
        self.query("CHECKPOINT")

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
            except (FileNotFoundError, ProcessLookupError):
                pass  # It has ended since, and counts with the server.
        return total / CLOCK_TICKS

    def settings(self):
        names = ("synchronous_commit", "fsync", "full_page_writes", "shared_buffers", "wal_sync_method")
        return {name: self.query(f"SHOW {name}") for name in names}

    def pgbench(self, script, clients, seconds=None, turns=None, url=None):
        """Transactions per second of a script, prepared statements; for some seconds, or so many turns of each client."""
        length = ["-T", str(seconds)] if seconds else ["-t", str(turns)]
        said = said_by([
            program("pgbench"), "-n", "-M", "prepared", "-c", str(clients), "-j", "1", *length, "-f", script, url or self.url,
        ])  # fmt: skip
        found = re.search(r"tps = ([0-9.]+)", said)
        if not found:
            raise Failure(f"pgbench: {said[-500:]}")
        return float(found.group(1))


def server_parser(name, description, quick, rounds=None, cpus=None):
    """What every bench with a server can be asked. `cpus`: how many it uses if nobody says; None: all."""
    parser = command.parser(name, description, quick, rounds)
    words = "all" if cpus is None else cpus
    parser.add_argument(
        "--cpus", type=command.count, default=cpus, help=f"how many CPUs everything together may use (default {words})"
    )
    return parser


class Workbench:
    """A server in a folder of its own, and a number of CPUs for all that is started from here on; used in a `with`."""

    def __init__(self, options):
        self.options = options
        self.allowed = sorted(os.sched_getaffinity(0))[: options.cpus]
        # Whatever is started from here on is bound by it: the server, the daemon and what it is compared with.
        os.sched_setaffinity(0, self.allowed)
        self.facts = conditions() | {"CPUs used": self.allowed}

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.folder = stack.enter_context(workplace("bench"))
            self.cluster = stack.enter_context(Cluster(self.options.bin, self.folder))
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *failure):
        with self.stack:
            if failure[0] is None:
                self.cluster.drop()
                self.facts |= {"postgres": version(program("postgres"), "--version")} | self.cluster.settings()
                self.facts["load_after"] = round(os.getloadavg()[0], 2)

    def report(self, ratios, parts, lines, **facts):
        """Says what was found, and under which conditions, these among them."""
        facts = self.facts | facts | {"swift": version("swift", "--version")}
        command.report(self.options, ratios, parts, facts, lines)

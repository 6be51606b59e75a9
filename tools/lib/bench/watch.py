"""What one operation does beside its own work: to accepts of other activities, to the database, to the daemon."""

import collections
import http.client
import os
import re
import subprocess
import threading
import time

from callers import Callers
from cluster import program
from measure import Failure, median
from processes import Process

# Shorter statements, and shorter waits for a lock, are not in the server's log.
LEAST_STATEMENT_MS, LEAST_WAIT_MS = 5, 20


class Elsewhere:
    """Changes to other activities at an even pace, a POST each, for as long as a `with` lasts.

    Twice a second there is one to the large activity itself, whose answer does not matter: changes are accepted in groups, and
    who keeps the large activity locked keeps the others of such a group waiting.
    """

    CALLERS = 16

    def __init__(self, url, key, call, per_second, own):
        """`call` makes (method, path, body) from the number of the change; `own` is that of the large activity."""
        self.callers = Callers(url, key, self.CALLERS)
        self.call, self.per_second, self.own = call, per_second, own
        self.lock, self.ended = threading.Lock(), threading.Event()
        self.number, self.taken, self.failures = 0, [], []

    def __enter__(self):
        self.began = time.monotonic()
        self.threads = [threading.Thread(target=self.work) for _ in range(self.CALLERS)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        """Waits for the answers that are still to come: the longest may be among them."""
        self.ended.set()
        for thread in self.threads:
            thread.join()

    def next(self):
        """Waits until the next change is due; None at the end."""
        with self.lock:
            self.number += 1
            self.ended.wait(max(0, self.began + self.number / self.per_second - time.monotonic()))
            if self.ended.is_set():
                return None
            return self.own if self.number % (self.per_second // 2) == 0 else self.call(self.number)

    def work(self):
        connection = http.client.HTTPConnection(self.callers.address, timeout=120)
        while call := self.next():
            began = time.monotonic()
            try:
                seconds = self.callers.one(connection, *call)
                if call is not self.own:
                    self.taken.append((began, seconds))
            except (Failure, OSError, http.client.HTTPException) as failure:
                if call is self.own and isinstance(failure, Failure):
                    continue
                self.taken.append((began, time.monotonic() - began))
                self.failures.append(str(failure) or type(failure).__name__)
                connection.close()
        connection.close()

    def during(self, began, ended):
        """The seconds of each accept that was under way in that time."""
        return [seconds for start, seconds in self.taken if start <= ended and start + seconds >= began]


class ServerLog:
    """Statements that took long or were cut off, and waits for locks: what the server's log has of them from here on."""

    SETTINGS = {
        "log_min_duration_statement": str(LEAST_STATEMENT_MS),
        "log_line_prefix": "%a|",
        # Tokens and keys by the thousand.
        "log_parameter_max_length": "0",
        "log_parameter_max_length_on_error": "0",
        "log_lock_waits": "on",
        "deadlock_timeout": str(LEAST_WAIT_MS),
    }

    def __init__(self, path):
        self.path, self.place = path, os.path.getsize(path)

    def entries(self):
        """The application and the text of each entry since the last look, its further lines included."""
        with open(self.path, encoding="utf-8", errors="replace") as file:
            file.seek(self.place)
            entry = []
            for line in file:
                if entry and not line.startswith("\t"):
                    yield "".join(entry).split("|", 1)
                    entry = []
                entry.append(line)
            if entry:
                yield "".join(entry).split("|", 1)

    def read(self):
        """The milliseconds and the text of each statement of a daemon, the longest first; the milliseconds of each wait for a
        lock; and how many statements ran out of time."""
        statements, waits, timeouts = [], [0.0], 0
        for application, *text in self.entries():
            if not text or application == "psql":
                continue
            if entry := re.match(r"LOG: +duration: ([0-9.]+) ms +\w+(?: [^:]*)?: (.*)", text[0], re.DOTALL):
                statements.append((float(entry[1]), " ".join(entry[2].split())))
            elif entry := re.match(r"LOG: +process \d+ (?:acquired|still waiting for) .* after ([0-9.]+) ms", text[0]):
                waits.append(float(entry[1]))
            timeouts += "due to statement timeout" in text[0]
        return sorted(statements, reverse=True), max(waits), timeouts


def log_position(cluster, url):
    """The end of the write-ahead log, behind a record of ours: the reader wants one."""
    cluster.query("SELECT pg_logical_emit_message(true, 'bench', '')", url)
    return cluster.query("SELECT pg_current_wal_flush_lsn()", url)


def rows_of_transactions(cluster, url, begin, end):
    """The most existing rows that one transaction locked or wrote between two places of the write-ahead log, by table.

    Each lock of a row, each update and each deletion leaves a record with the number of its transaction. So this is a count and
    no sample. New rows are left out: nobody waits for them. A row counts once if it is locked and then written, also where its
    page has no room for the new version: such an update leaves a lock of its own.
    """
    records = collections.defaultdict(lambda: [0, 0])
    words = [program("pg_waldump"), "--path", cluster.wal, "--rmgr", "Heap", "--start", begin, "--end", end]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as dump:
        for line in dump.stdout:
            head, _, text = line.partition("desc: ")
            kind = text[:6]
            if kind[:4] == "LOCK":
                place = 0
            elif kind in ("UPDATE", "HOT_UP", "DELETE"):
                place = 1
            else:
                continue
            table = text.partition("blkref #0: rel ")[2].partition(" ")[0]
            transaction = head.partition("tx:")[2].partition(",")[0]
            records[transaction, table][place] += 1
        said = dump.stderr.read()
    if dump.returncode != 0:
        raise Failure(f"pg_waldump: {said.strip()[-300:]}")
    names = {table: name_of(cluster, url, table) for table in {table for _, table in records}}
    transactions = collections.defaultdict(dict)
    for (transaction, table), (locked, written) in records.items():
        # Those of the server itself are what autovacuum knows of tables.
        if not names[table].startswith("pg_"):
            transactions[transaction][names[table]] = max(written, locked - written)
    most = max(transactions.values(), key=lambda tables: sum(tables.values()), default={})
    return dict(sorted(most.items(), key=lambda item: -item[1]))


def name_of(cluster, url, table):
    """What a table is called that the log names by tablespace, database and file."""
    space, _, file = table.split("/")
    sql = f"SELECT coalesce(pg_filenode_relation(CASE {space} WHEN 1663 THEN 0 ELSE {space} END, {file})::text, '{table}')"
    return cluster.query(sql, url)


class Watch:
    """Looks on while an operation is carried out on a stage; used in a `with`. `row` has what it has seen."""

    def __init__(self, stage, *accepts):
        """`accepts` are the further arguments of `Elsewhere`."""
        self.stage, self.accepts = stage, accepts
        self.processes, self.peak, self.ended = [], None, None

    def __enter__(self):
        cluster, url = self.stage.cluster, self.stage.url
        self.elsewhere = Elsewhere(self.stage.daemon.url, self.stage.key, *self.accepts)
        self.elsewhere.__enter__()
        try:
            # Until every caller has its connection.
            time.sleep(0.5)
            self.log = ServerLog(cluster.log)
            self.add(self.stage.daemon.process.pid)
            self.stage.sink.counts()
            self.wal = log_position(cluster, url)
        except BaseException:
            self.elsewhere.__exit__()
            raise
        self.began = time.monotonic()
        return self

    def add(self, pid):
        """One more process whose memory counts; from here on."""
        Process(pid).forget_peak()
        self.processes.append(pid)

    def done(self):
        """The operation is through; what comes after the first call of this does not count."""
        if self.ended is not None:
            return
        self.ended = time.monotonic()
        self.peak = max(Process(pid).peak for pid in self.processes)

    def __exit__(self, *_):
        self.ended = self.ended or time.monotonic()
        self.elsewhere.__exit__()

    def row(self):
        cluster, url = self.stage.cluster, self.stage.url
        accepts = self.elsewhere.during(self.began, self.ended)
        statements, wait, timeouts = self.log.read()
        rows = rows_of_transactions(cluster, url, self.wal, log_position(cluster, url))
        return {
            "seconds": round(self.ended - self.began, 2),
            "longest_accept_elsewhere_ms": round(max(accepts, default=0) * 1000, 1),
            "median_accept_elsewhere_ms": round(median(accepts) * 1000, 1) if accepts else None,
            "accepts_elsewhere": len(accepts),
            "failed_accepts": self.elsewhere.failures[:3],
            "rows_of_one_transaction": sum(rows.values()),
            "rows_by_table": rows,
            "longest_statement_ms": round(statements[0][0], 1) if statements else 0,
            "longest_statements": [[round(ms, 1), text] for ms, text in self.distinct(statements)],
            "statement_timeouts": timeouts,
            "longest_lock_wait_ms": round(wait, 1),
            "memory_mib": round(self.peak / 2**20, 1) if self.peak else None,
            "pushes": self.stage.sink.counts()["requests"],
        }

    @staticmethod
    def distinct(statements, count=3):
        """The first of each text."""
        found = {}
        for ms, text in statements:
            found.setdefault(text, ms)
        return [(ms, text) for text, ms in list(found.items())[:count]]


def at_least(ms, least):
    """Milliseconds in words; what is shorter than `least` is not seen."""
    return f"{ms:,.0f} ms" if ms >= least else f"< {least} ms"

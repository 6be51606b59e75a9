"""The least that Postgres needs for the rows of a kick-off: the same tables and indexes, written in groups by pgbench."""

import os
import time

# As many as the daemon sends in a slice.
GROUP, CLIENTS = 128, 4
CALLERS = 64

TABLES = """
    CREATE TABLE least_starts (LIKE starts INCLUDING ALL);
    CREATE TABLE least_cards (LIKE subscriptions INCLUDING ALL);
    CREATE SEQUENCE least_turn MINVALUE 0;
"""
TURN = "SELECT nextval('least_turn') AS turn \\gset\n"
NUMBERS = f"generate_series(:turn * {GROUP} + 1, (:turn + 1) * {GROUP})"
TOKEN = "int8send({0}) || sha512(int8send({0})) || int8send({0})"

# A start is claimed before it leaves; the answer settles it, and makes a card that waits for its token.
STARTS = f"""{TURN}INSERT INTO least_starts (activity_key, device_key, state, attempts, revision, claimed_at, due_at)
SELECT 1, n, 'claimed', 1, 1, now(), now() + interval '120 s' FROM {NUMBERS} AS n;
BEGIN;
UPDATE least_starts SET state = 'sent', due_at = NULL
WHERE activity_key = 1 AND device_key > :turn * {GROUP} AND device_key <= (:turn + 1) * {GROUP};
INSERT INTO least_cards (activity_key, device_key, mode, state, known_revision)
SELECT 1, n, 'token', 'waiting_for_token', 1 FROM {NUMBERS} AS n;
COMMIT;
"""

# A report gives the card its token.
REPORTS = f"""{TURN}INSERT INTO least_cards AS c (activity_key, device_key, mode, state, update_token, generation, known_revision)
SELECT 1, n, 'token', 'riding', {TOKEN.format("n")}, 1, 1 FROM {NUMBERS} AS n
ON CONFLICT (activity_key, device_key) DO UPDATE SET state = 'riding', update_token = EXCLUDED.update_token, generation = 1;
"""


def upserts(count):
    """The same for one phone a commit."""
    return f"""\\set n random(1, {count})
INSERT INTO least_cards AS c (activity_key, device_key, mode, state, update_token, generation, known_revision)
VALUES (2, :n, 'token', 'riding', {TOKEN.format(":n")}, 1, 1)
ON CONFLICT (activity_key, device_key) DO UPDATE SET update_token = EXCLUDED.update_token, generation = 1;
"""


def turns(count):
    """How often each client writes a group, so that every phone has its rows."""
    return -(-count // (GROUP * CLIENTS))


class Least:
    """Used when the daemon has ended; its tables stay empty beside those that the daemon has filled."""

    def __init__(self, folder, stage, count):
        self.path, self.stage, self.count = os.path.join(folder, "least.sql"), stage, count
        stage.query(TABLES)

    def play(self, script, *arguments, **more):
        with open(self.path, "w") as file:
            file.write(script)
        return self.stage.cluster.pgbench(self.path, *arguments, url=self.stage.url, **more)

    def seconds(self, script):
        """Seconds for the groups of all phones."""
        self.stage.query("ALTER SEQUENCE least_turn RESTART")
        began = time.monotonic()
        self.play(script, CLIENTS, turns=turns(self.count))
        # What is written beyond the last phone does not count.
        return (time.monotonic() - began) * self.count / (turns(self.count) * GROUP * CLIENTS)

    def measure(self):
        return {
            "started": self.seconds(STARTS),
            "reported": self.seconds(REPORTS),
            "upserts_per_second": self.play(upserts(self.count), CALLERS, seconds=5),
        }

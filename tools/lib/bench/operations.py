"""Whether an operation on one very large activity delays accepts of the others: each operation with what it does beside."""

import http.client
import json
import os
import time
import urllib.parse

from daemon import ADMIN, Daemon
from measure import Failure, say
from simulator import Simulator
from stage import APP, PATH, Stage, state
from watch import LEAST_STATEMENT_MS, ServerLog, Watch, at_least

TYPE = "Final"
# What everybody follows: by update tokens, and by a channel.
TOKENS, CHANNEL = "final", "final-on-channel"
# What is started for everybody meanwhile.
STARTED = "final-for-all"
ATTRIBUTES = {"home": "Argentina", "away": "France"}
ALERT = {"title": "Kick-off", "body": "Argentina against France"}
# Activities that nobody follows, of the same type, and how often one of them changes.
OTHERS, PER_SECOND = 100, 100
# The large activity takes a change, and from then on refuses those that happened before.
NOW, BEFORE = "2026-01-01T12:00:00Z", "2026-01-01T11:00:00Z"
# A version of the app for each of the type, and what the state may say in it that it could not before. Nobody has a card by
# the first; half of the devices each have the others.
PERIODS = {"1.0": "penalties", "2.0": "extra_time", "3.0": "replay"}
# As docs/samples/deploy/postgresql.conf advises. What is counted from the write-ahead log has to be there until it is counted;
# making files for it must not hold up commits.
SERVER = {
    "max_wal_size": "16GB",
    "checkpoint_timeout": "15min",
    "autovacuum_naptime": "10s",
    "autovacuum_vacuum_scale_factor": "0.02",
    "autovacuum_vacuum_cost_limit": "2000",
    "min_wal_size": "4GB",
    "wal_init_zero": "off",
}
# Plain Postgres at work beside the accepts: transactions of as many rows as those of Tally, on a table like that of cards.
ANCHOR_ROWS, ANCHOR_BATCH, ANCHOR_CLIENTS, ANCHOR_SECONDS = 1_000_000, 2_000, 4, 20
# Users that a backend names one by one.
NAMED, USERS = "final-for-named", 25_000


def shared_buffers():
    """A quarter of this machine's memory, as docs/samples/deploy/postgresql.conf advises."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return f"{total // 4 // 2**20}MB"


class Scene(Stage):
    """A daemon, and an app whose devices all have a card of two activities and a start token.

    Device tokens are sent to the sink; channels and broadcasts to the simulator, which makes channels as Apple does.
    """

    def __init__(self, bin, folder, cluster, sink, simulator, devices):
        super().__init__(bin, folder, cluster, sink, 1, "nothing")
        self.bin, self.devices = bin, devices
        self.users = min(USERS, devices // 2)
        # The seconds that an operation may take. What runs out of time is repeated for ever.
        self.patience = 300 + devices / 500
        authorities = os.path.join(folder, "authorities.pem")
        with open(authorities, "w") as file:
            for path in (simulator.authority, os.path.join(folder, "ca.pem")):
                with open(path) as one:
                    file.write(one.read())
        self.settings = simulator.daemon_settings | {
            "TALLY_APNS_PRODUCTION_DEVICE_URL": f"https://localhost:{sink.port}",
            "TALLY_APNS_CA_FILE": authorities,
        }
        self.daemon = Daemon(bin, self.url, **self.settings)

    def call(self, method, path, body=None, expected=range(200, 300), **headers):
        """Makes a call; the JSON of its answer, or its text. An operation may take its time."""
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.daemon.url).netloc, timeout=self.patience)
        head = {"Authorization": f"Bearer {ADMIN}", "Content-Type": "application/json", "Accept": "application/json"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), head | headers)
            answer = connection.getresponse()
            said = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise Failure(f"{method} {path}: {error!r}") from None
        finally:
            connection.close()
        if answer.status not in expected:
            raise Failure(f"{method} {path}: {answer.status} {said[:300]}")
        return json.loads(said) if said[:1] in (b"{", b"[") else said.decode()

    def until(self, condition, pause=0.05):
        """Waits until a query says true. It must be cheap: it is asked more seldom, the longer it takes."""
        deadline = time.monotonic() + self.patience
        while self.query(f"SELECT {condition}") != "t":
            if time.monotonic() > deadline:
                raise Failure(f"not through after {self.patience:,.0f} s: {' '.join(condition.split())}")
            time.sleep(pause)
            pause = min(pause * 1.2, 1)

    def rest(self, *names):
        """Waits until no daemon has, or will have within seconds, anything to do for these activities."""
        those = "a.activity_id IN (" + ", ".join(f"'{name}'" for name in names) + ")"
        self.until(
            f"""NOT EXISTS (SELECT FROM wake_ups)
            AND NOT EXISTS (SELECT FROM activities AS a WHERE {those} AND a.enrolment_due)
            AND NOT EXISTS (SELECT FROM segments AS s JOIN activities AS a USING (activity_key)
                WHERE {those} AND (s.lease_owner IS NOT NULL OR s.due_at < now() + interval '5 seconds'))
            AND NOT EXISTS (SELECT FROM activity_app_versions AS v JOIN activities AS a USING (activity_key)
                WHERE {those} AND NOT v.is_settled)"""
        )

    # --- What there is ------------------------------------------------------------------------------------------------

    def fill(self):
        """Makes the types, the activities and, by SQL, the rows of the devices."""
        for version in PERIODS:
            self.call("PUT", f"{PATH}/types/{TYPE}", type_version(version))
        for number in range(OTHERS):
            self.call("PUT", f"{PATH}/activities/other-{number}", start())
        for name, delivery in ((TOKENS, "tokens"), (CHANNEL, "channel")):
            self.call("PUT", f"{PATH}/activities/{name}", start(delivery=delivery))
        self.until("every(state = 'ready') FROM channels")
        for name in (TOKENS, CHANNEL):
            self.call("POST", f"{PATH}/activities/{name}/updates", self.progress() | {"event_time": NOW})
        self.rest(TOKENS, CHANNEL)
        began = time.monotonic()
        for statement in self.rows():
            # Foreign keys are not looked at: the rows are ours.
            self.query(f"SET session_replication_role = replica; {statement}")
        self.vacuum()
        self.load_seconds += time.monotonic() - began

    def rows(self):
        token = "int8send(device_key) || sha512(int8send(device_key)) || int8send(device_key)"
        cards = """INSERT INTO subscriptions
            (activity_key, device_key, mode, state, update_token, known_revision, check_at)
            SELECT activity_key, device_key, {mode}, 'riding', {token}, 2, now() + interval '8 hours'
            FROM devices, activities WHERE app_version > '1.0' AND activity_id = '{name}' ORDER BY device_key"""
        return [
            "UPDATE devices SET app_version = '1.0'",
            f"""INSERT INTO devices (bundle_id, device_id, environment, user_id, os_version, app_version)
            SELECT '{APP}', 'device-' || n, 'production', CASE WHEN n <= 10 THEN 'fan' WHEN n <= {10 + self.users} THEN 'user-' || n END, '18.1', (2 + n % 2) || '.0'
            FROM generate_series(2, {self.devices}) AS n ORDER BY n""",
            cards.format(mode="'token'", token=token, name=TOKENS),
            cards.format(mode="'channel'", token="NULL", name=CHANNEL),
            f"""INSERT INTO start_tokens (device_key, type_name, token)
            SELECT device_key, '{TYPE}', {token} FROM devices ORDER BY device_key""",
            f"""INSERT INTO activity_app_versions (activity_key, app_version, is_withheld, decodes_from)
            SELECT activity_key, version, false, 1
            FROM activities, unnest('{{{",".join(PERIODS)}}}'::text[]) AS version WHERE activity_id = '{TOKENS}'""",
        ]

    def vacuum(self):
        """As autovacuum would in time."""
        self.query("VACUUM (ANALYZE)")
        self.query("CHECKPOINT")

    def write(self, sql):
        """Rows that something else has left, before what is measured."""
        self.query(f"SET session_replication_role = replica; {sql}")
        self.vacuum()

    def progress(self, **more):
        """The body of an update that no other has."""
        body = self.update()
        body["content_state"] |= more
        return body


def start(**more):
    return {"type": TYPE, "attributes": ATTRIBUTES, "content_state": state(0), **more}


def type_version(version):
    """The body of a version of the type: an app of it decodes what those before it do, and one more word."""
    words = [word for name, word in PERIODS.items() if name <= version]
    properties = {name: {"type": "integer"} for name in ("clock", "home_score")}
    properties |= {"last_event": {"type": "string"}, "period": {"type": "string", "enum": words}}
    content = {"type": "object", "properties": properties, "required": sorted(properties)}
    attributes = {"type": "object", "properties": {name: {"type": "string"} for name in ATTRIBUTES}}
    return {"attributes_schema": attributes, "content_state_schema": content, "min_app_version": version}


class Operations:
    """All operations, one after the other on one database: later ones find what earlier ones have left."""

    def __init__(self, bin, folder, cluster, sink, devices):
        self.bin, self.folder, self.cluster, self.sink, self.devices = bin, folder, cluster, sink, devices
        self.rows = []

    def measure(self):
        self.cluster.configure(SERVER | ServerLog.SETTINGS)
        with Simulator(self.bin, self.folder) as simulator:
            self.scene = Scene(self.bin, self.folder, self.cluster, self.sink, simulator, self.devices)
            with self.scene:
                self.scene.fill()
                say(f"   {self.devices:,} devices are there after {self.scene.load_seconds:,.0f} s")
                groups = (
                    self.nothing, self.anchor, self.reads, self.changes, self.versions, self.audiences, self.halt, self.channel, self.ends
                )  # fmt: skip
                for group in groups:
                    try:
                        group()
                    except Failure as failure:
                        # What the next ones need may not be there; they say so themselves.
                        self.failed(f"beside the operations: {group.__name__}", failure)
        return self.rows

    def failed(self, name, failure, **more):
        say(f"   {name}: FAILED: {failure}")
        self.rows.append({"name": name, "subscriptions": self.devices, "failed": str(failure), **more})

    def run(self, name, work, large=TOKENS):
        """Carries out an operation on a large activity, and adds its row. `work(watch)` returns when all is through, and says
        how long the answer took."""
        scene = self.scene

        def change(number):
            return "POST", f"{PATH}/activities/other-{number % OTHERS}/updates", scene.update()

        # Locks the activity, and changes nothing: it is late, or what was started.
        own = ("POST", f"{PATH}/activities/{large}/updates", {"content_state": state(0), "event_time": BEFORE})
        failure = None
        self.keep_log("1TB")
        watch = Watch(scene, change, PER_SECOND, own)
        try:
            with watch:
                answer = work(watch)
                watch.done()
        except Failure as error:
            failure = error
        try:
            row = watch.row() | {"answer_ms": None if failure else round(answer * 1000, 1)}
        except Failure as error:
            failure, row = failure or error, {}
        self.keep_log("0")
        if failure:
            return self.failed(name, failure, **row)
        row = {"name": name, "subscriptions": self.devices} | row
        self.rows.append(row)
        say(
            f"   {name}: {row['seconds']:,.2f} s, answered in {row['answer_ms']:,.0f} ms; an accept elsewhere"
            f" {row['longest_accept_elsewhere_ms']:,.0f} ms, a transaction {row['rows_of_one_transaction']:,} rows,"
            f" a statement {at_least(row['longest_statement_ms'], LEAST_STATEMENT_MS)}, {row['memory_mib']:.0f} MiB"
        )

    def keep_log(self, size):
        """How much of the write-ahead log stays there for whoever counts what is in it."""
        self.cluster.configure({"wal_keep_size": size})
        self.cluster.query("CHECKPOINT")

    def one(self, name, method, path, body=None, wait=(), **options):
        """An operation that is one call. It is through when the daemon has nothing more to do for the activities of `wait`."""

        def work(_):
            began = time.monotonic()
            self.scene.call(method, path, body, **options)
            answer = time.monotonic() - began
            if wait:
                self.scene.rest(*wait)
            return answer

        self.run(name, work, *wait[:1])

    # --- The operations -----------------------------------------------------------------------------------------------

    def nothing(self):
        """Accepts alone: what the figures of the others are to be held against."""
        self.wait("nothing but accepts for 10 s")

    def wait(self, name):
        """An operation that nobody asks for."""

        def work(_):
            time.sleep(10)
            return 0

        self.run(name, work)

    def anchor(self):
        """Accepts beside pgbench, which keeps all CPUs busy: what this machine gives without Tally's work."""
        cluster = self.cluster
        cluster.query(
            f"""CREATE TABLE anchor (id bigint PRIMARY KEY, due_at timestamptz, token bytea);
            CREATE INDEX anchor_due ON anchor (due_at);
            INSERT INTO anchor SELECT n, now(), sha512(int8send(n)) FROM generate_series(1, {ANCHOR_ROWS}) AS n;"""
        )
        cluster.query("VACUUM (ANALYZE) anchor")
        script = os.path.join(self.folder, "anchor.sql")
        with open(script, "w") as file:
            file.write(
                f"\\set first {ANCHOR_BATCH} * random(0, {ANCHOR_ROWS // ANCHOR_BATCH - 1})\n"
                f"UPDATE anchor SET due_at = now() WHERE id > :first AND id <= :first + {ANCHOR_BATCH};\n"
            )

        def work(_):
            cluster.pgbench(script, ANCHOR_CLIENTS, ANCHOR_SECONDS)
            return 0

        self.run(f"beside pgbench, which updates {ANCHOR_BATCH:,} rows at a time on {ANCHOR_CLIENTS} connections", work)
        cluster.query("DROP TABLE anchor")

    def reads(self):
        activity, channel = f"{PATH}/activities/{TOKENS}", f"{PATH}/activities/{CHANNEL}"
        listed = self.scene.call("GET", f"{PATH}/channels")["items"][0]["id"]
        for name, path in {
            "the activity": activity,
            "the activity on a channel": channel,
            "a page of activities": f"{PATH}/activities?limit=10",
            "a page of cards": f"{activity}/subscriptions",
            "a page of cards in a state that none has": f"{activity}/subscriptions?state=rejected",
            "the timeline": f"{activity}/timeline",
            "the timeline of a device": f"{activity}/timeline?device_id=device-2",
            "the devices": f"{PATH}/devices",
            "the devices of a user": f"{PATH}/devices?user_id=fan",
            "a device": f"{PATH}/devices/device-2",
            "the channels": f"{PATH}/channels",
            "a channel": f"{PATH}/channels/{listed}",
            "the schedules": f"{PATH}/schedules",
            "a page of events": f"/v1/events?activity_id={TOKENS}",
            "the types": f"{PATH}/types",
            "a type": f"{PATH}/types/{TYPE}",
            "the versions of a type": f"{PATH}/types/{TYPE}/versions",
            "the audit log": "/v1/audit",
            "the metrics": "/metrics",
        }.items():
            self.one(f"GET {name}", "GET", path)
        self.one("the doctor", "POST", "/v1/doctor", {})

    def changes(self):
        activity, channel = f"{PATH}/activities/{TOKENS}", f"{PATH}/activities/{CHANNEL}"
        self.one("a dry run of an update", "POST", f"{activity}/updates?dry_run=true", self.scene.update())
        self.one("a dry run of the end", "POST", f"{activity}/end?dry_run=true", {})
        self.one("an update", "POST", f"{activity}/updates", self.scene.update(), wait=[TOKENS])
        self.one("an update on the channel", "POST", f"{channel}/updates", self.scene.update(), wait=[CHANNEL])
        self.one("GET the activity after an update", "GET", activity)

    def versions(self):
        types = f"{PATH}/types/{TYPE}"

        def update(name, wait=(), expected=(202,), **content):
            path = f"{PATH}/activities/{TOKENS}/updates"
            self.one(name, "POST", path, self.scene.progress(**content), wait=wait, expected=expected)

        update("an update that only an app version without cards cannot decode", [TOKENS], period="extra_time")
        update("an update that half of the phones cannot decode, refused", expected=[422], period="replay")
        broken = type_version("3.0") | {"min_app_version": "4.0"}
        content = broken["content_state_schema"]
        content["properties"]["away_score"] = {"type": "integer"}
        content["required"].append("away_score")
        self.one("a type version that would break the activity, refused", "PUT", types, broken, expected=[409])
        self.one("a type version is retired", "PUT", f"{types}/versions/2", {"retired": True}, wait=[TOKENS, CHANNEL])
        update("an update that half of the phones cannot decode, withheld", [TOKENS], period="replay")
        update("the next update, which they can decode", [TOKENS])

    def audiences(self):
        everybody = {"all_of_type": True}
        path, body = f"{PATH}/activities/{STARTED}", start(audience=everybody, alert=ALERT)
        self.one("a dry run of a start for everybody", "PUT", f"{path}?dry_run=true", body)
        self.one("a start for everybody", "PUT", path, body, wait=[STARTED])
        self.one("GET what everybody was started for", "GET", path)
        more = ("POST", f"{PATH}/activities/{TOKENS}/audience", {"add": everybody, "alert": ALERT})
        key = {"Idempotency-Key": "everybody"}
        self.one("everybody is added to the audience", *more, wait=[TOKENS], **key)
        self.one("the same request again", *more, **key)
        self.one("everybody is removed from the audience", "POST", f"{path}/audience", {"remove": everybody}, wait=[STARTED])
        scene = self.scene
        scene.call("PUT", f"{PATH}/activities/{NAMED}", start(alert=ALERT))
        users = [f"user-{n}" for n in range(11, 11 + scene.users)]
        self.one(
            f"{scene.users:,} named users are added to an audience", "POST", f"{PATH}/activities/{NAMED}/audience",
            {"add": {"users": users}}, wait=[NAMED],
        )  # fmt: skip
        self.one("a device is deleted", "DELETE", f"{PATH}/devices/device-{self.devices // 2}")
        self.one("a user is erased", "DELETE", f"{PATH}/users/fan")

    def halt(self):
        """All tokens were rejected; then sending goes on."""
        scene = self.scene
        scene.write(
            f"""INSERT INTO sending_halts (bundle_id, environment, suspect_from, answers, rejections, probe_at)
            VALUES ('{APP}', 'production', now() - interval '1 minute', 1000, 1000, now() + interval '1 day');
            UPDATE subscriptions AS s
            SET state = 'rejected', due_at = NULL, reason = 'BadDeviceToken', rejected_at = clock_timestamp()
            FROM activities AS a
            WHERE a.activity_id = '{TOKENS}' AND s.activity_key = a.activity_key AND s.update_token IS NOT NULL;
            UPDATE start_tokens SET state = 'rejected', rejected_at = clock_timestamp()"""
        )

        def work(_):
            began = time.monotonic()
            scene.call("DELETE", f"{PATH}/halts/production")
            answer = time.monotonic() - began
            scene.until(
                """NOT EXISTS (SELECT FROM sending_halts)
                AND NOT EXISTS (SELECT FROM subscriptions WHERE state = 'rejected')
                AND NOT EXISTS (SELECT FROM start_tokens WHERE state = 'rejected')"""
            )
            scene.rest(TOKENS, CHANNEL, STARTED)
            return answer

        self.wait("a halt of 10 s, all tokens were rejected")
        self.run("the halt is lifted", work)
        # One that could not be lifted would hold up the next operations.
        scene.query("DELETE FROM sending_halts")

    def channel(self):
        """Apple says of a channel that everybody listens to that it is not registered."""
        scene = self.scene
        # One that Apple had, and has no more.
        made = scene.call("POST", f"{PATH}/channels", {"environment": "production", "storage": "most_recent"})
        scene.call("DELETE", f"{PATH}/channels/{made['id']}")
        scene.until(f"state = 'deleted' FROM channels WHERE channel_id = '{made['id']}'")
        gone, this = made["apns_channel_id"], f"(SELECT activity_key FROM activities WHERE activity_id = '{CHANNEL}')"
        scene.query(f"DELETE FROM channels WHERE channel_id = '{made['id']}'")
        scene.query(f"UPDATE channels SET apns_channel_id = '{gone}' WHERE activity_key = {this}")

        def work(_):
            began = time.monotonic()
            scene.call("POST", f"{PATH}/activities/{CHANNEL}/updates", scene.update())
            answer = time.monotonic() - began
            scene.until(
                f"""EXISTS (SELECT FROM channels
                    WHERE activity_key = {this} AND state = 'ready' AND apns_channel_id <> '{gone}')"""
            )
            # They go in the order of their devices, whether at once or in parts.
            scene.until(
                f"""(SELECT state = 'over' FROM subscriptions
                    WHERE activity_key = {this} ORDER BY device_key DESC LIMIT 1)"""
            )
            scene.rest(CHANNEL)
            return answer

        self.run("the channel is lost", work, CHANNEL)
        left = scene.query(
            f"SELECT count(*) FROM subscriptions WHERE activity_key = {this} AND mode = 'channel' AND state <> 'over'"
        )
        if left != "0":
            raise Failure(f"{left} cards still listen to the lost channel")

    def ends(self):
        scene = self.scene
        for name, words in {
            STARTED: "the end of what everybody was started for",
            TOKENS: "the end",
            CHANNEL: "the end on the channel",
        }.items():
            self.one(words, "POST", f"{PATH}/activities/{name}/end", {}, wait=[name])
        scene.write(
            f"""UPDATE activities SET ended_at = now() - interval '60 days'
            WHERE activity_id = '{TOKENS}' AND state = 'ended'"""
        )

        def work(watch):
            began = time.monotonic()
            # A pass comes every ten minutes, and when a daemon starts.
            with Daemon(self.bin, scene.url, **scene.settings) as other:
                answer = time.monotonic() - began
                watch.add(other.process.pid)
                scene.until(f"NOT EXISTS (SELECT FROM activities WHERE activity_id = '{TOKENS}')")
                watch.done()
            return answer

        self.run("the ended activity is deleted, after its time", work)


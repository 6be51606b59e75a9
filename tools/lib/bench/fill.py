"""A large database, written with SQL: an app, live activities with their changes and timelines, devices, and cards."""

import hashlib
import json
import os
import uuid
from dataclasses import dataclass

from credentials import signing_key
from measure import say

APP, TYPE = "com.example.matchday", "GameAttributes"
SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs", "samples")
REVISIONS = 10


@dataclass
class Size:
    """Every activity has as many cards as any other, and every device has ten."""

    subscriptions: int
    activities: int

    @property
    def each(self):
        return self.subscriptions // self.activities

    @property
    def devices(self):
        return self.subscriptions // 10


def follower(size, n):
    """The id of a phone that follows the activity of that number."""
    return f"phone-{1 + n % size.activities * size.each % size.devices}"


def token(size, n):
    """The update token of a card."""
    return hashlib.md5(f"card {n % size.subscriptions}".encode()).hexdigest() + "0" * 128


def identity(kind, n):
    """The id of the channel or schedule of that number."""
    return str(uuid.UUID(hashlib.md5(f"{kind} {n}".encode()).hexdigest()))


def sample(name):
    with open(os.path.join(SAMPLES, name), encoding="utf-8") as file:
        return json.dumps(json.load(file)).replace("'", "''")


def steps(size):
    """What is said, and the statements."""
    state = '\'{"homeScore": 3, "awayScore": 3, "minute": 108, "period": "live"}\''
    attributes = '\'{"homeTeam": "Argentina", "awayTeam": "France", "competition": "World Cup final 2022"}\''
    yield "app and type", f"""
        INSERT INTO apps (bundle_id, team_id) VALUES ('{APP}', 'ABCDE12345');
        INSERT INTO activity_types (bundle_id, type_name, policy) VALUES ('{APP}', '{TYPE}', '{sample("game-policy.json")}');
        INSERT INTO type_versions (bundle_id, type_name, version, attributes_schema, content_state_schema)
        VALUES ('{APP}', '{TYPE}', 1, '{sample("game-attributes.schema.json")}', '{sample("game-content-state.schema.json")}')"""
    yield "activities", f"""
        INSERT INTO activities (activity_key, bundle_id, activity_id, environment, type_name, delivery, state, attributes,
            start_body, revision, stamp, started_at, created_at)
        OVERRIDING SYSTEM VALUE
        SELECT n, '{APP}', 'match-' || n, 'production', '{TYPE}', 'tokens', 'live', {attributes}, '{{}}', {REVISIONS},
            extract(epoch FROM now())::int8 - 60, now() - interval '1 hour', now() - interval '1 hour'
        FROM generate_series(1, {size.activities}) AS n;
        INSERT INTO changes (activity_key, revision, kind, content_state, urgency, timestamp, stamped_at, accepted_at, is_sent)
        SELECT n, r, CASE WHEN r = 1 THEN 'start' ELSE 'update' END::change_kind, {state}, 'notable',
            extract(epoch FROM now())::int8 - 3600 + 300 * r, now() - 3600 * interval '1 second' + 300 * r * interval '1 second',
            now() - 3600 * interval '1 second' + 300 * r * interval '1 second', true
        FROM generate_series(1, {size.activities}) AS n, generate_series(1, {REVISIONS}) AS r;
        INSERT INTO segments (activity_key, segment, completed_revision)
        SELECT n, 0, {REVISIONS} FROM generate_series(1, {size.activities}) AS n;
        INSERT INTO activity_app_versions (activity_key, app_version, is_withheld, decodes_from)
        SELECT n, '', false, 1 FROM generate_series(1, {size.activities}) AS n;
        INSERT INTO audience_members (activity_key, kind, member_id, bundle_id)
        SELECT n, 'user', 'fan-' || m, '{APP}' FROM generate_series(1, {size.activities}) AS n, generate_series(1, 20) AS m;
        INSERT INTO budget_ledger (activity_key, class, revision, priority, reason, decided_at)
        SELECT n, 'ordinary', r, CASE WHEN r < 8 THEN 10 ELSE 5 END, 'notable', now() - 3600 * interval '1 second' + 300 * r * interval '1 second'
        FROM generate_series(1, {size.activities}) AS n, generate_series(2, {REVISIONS}) AS r;
        INSERT INTO timeline (at, kind, activity_key, segment, event, revision, priority, first_device, last_device, counts)
        SELECT now() - 3600 * interval '1 second' + (300 * r + 1) * interval '1 second', 'batch', n, 0, 'update', r, 10, 1, {size.devices},
            json_build_object('200', {size.each})
        FROM generate_series(1, {size.activities}) AS n, generate_series(2, {REVISIONS}) AS r;
        INSERT INTO events (kind, bundle_id, environment, activity_id, at, detail)
        SELECT 'pushes_answered', '{APP}', 'production', 'match-' || n, now() - 3600 * interval '1 second' + (300 * r + 1) * interval '1 second',
            json_build_object('revision', r, 'pushes', {size.each}, 'answers', json_build_object('200', {size.each}))
        FROM generate_series(2, {REVISIONS}) AS r, generate_series(1, {size.activities}) AS n;
        INSERT INTO schedules (schedule_id, activity_key, bundle_id, kind, due_at, body)
        SELECT md5('schedule ' || n)::uuid, n, '{APP}', 'end', now() + interval '1 day', '{{}}' FROM generate_series(1, {size.activities}) AS n;
        INSERT INTO channels (channel_id, bundle_id, environment, storage, state, apns_channel_id, ready_at)
        SELECT md5('channel ' || n)::uuid, '{APP}', 'production', 'most_recent', 'ready', 'channel-' || n, now() FROM generate_series(1, {size.activities}) AS n;
        INSERT INTO audit_log (key_id, request_id, action, bundle_id, subject)
        SELECT 'bootstrap', 'request-' || n, 'schedule_run', '{APP}', 'schedule-' || n FROM generate_series(1, {size.activities}) AS n"""
    yield "devices", f"""
        INSERT INTO devices (device_key, bundle_id, device_id, environment, user_id, os_version, device_token)
        OVERRIDING SYSTEM VALUE
        SELECT n, '{APP}', 'phone-' || n, 'production', 'fan-' || n, '18.1', decode(md5('device ' || n) || repeat('0', 32), 'hex')
        FROM generate_series(1, {size.devices}) AS n;
        INSERT INTO start_tokens (device_key, type_name, token)
        SELECT n, '{TYPE}', decode(md5('start ' || n) || repeat('0', 128), 'hex') FROM generate_series(1, {size.devices}) AS n"""
    yield "subscriptions", f"""
        INSERT INTO subscriptions (activity_key, device_key, mode, state, update_token, known_revision)
        SELECT 1 + s / {size.each}, 1 + s % {size.devices}, 'token', 'riding', decode(md5('card ' || s) || repeat('0', 128), 'hex'), 1
        FROM generate_series(0, {size.subscriptions - 1}) AS s;
        INSERT INTO starts (activity_key, device_key, state, attempts, revision, claimed_at)
        SELECT 1 + s / {size.each}, 1 + s % {size.devices}, 'settled', 1, 1, now() - interval '1 hour'
        FROM generate_series(0, {size.subscriptions - 1}) AS s WHERE s % {size.each} < {size.each // 10}"""
    yield "numbers", """
        SELECT setval(pg_get_serial_sequence('activities', 'activity_key'), (SELECT max(activity_key) FROM activities)),
            setval(pg_get_serial_sequence('devices', 'device_key'), (SELECT max(device_key) FROM devices))"""


LARGE = ["devices", "start_tokens", "subscriptions", "starts"]


def fill(cluster, url, size):
    """Writes the rows first and makes the indexes of the large tables afterwards, which is many times faster."""
    cluster.configure({"maintenance_work_mem": "512MB", "max_wal_size": "16GB", "checkpoint_timeout": "1h"})
    indexes = cluster.query(
        "SELECT indexname || '|' || indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename IN"
        f" ({', '.join(repr(name) for name in LARGE)}) AND indexdef NOT LIKE 'CREATE UNIQUE%'",
        url,
    ).splitlines()
    for line in indexes:
        cluster.query(f"DROP INDEX {line.split('|')[0]}", url)
    for name, statements in steps(size):
        say(f"   {name}")
        # Foreign keys hold by the way the rows are made.
        cluster.query(f"SET session_replication_role = replica; SET synchronous_commit = off; {statements}", url)
    for line in indexes:
        name, definition = line.split("|", 1)
        say(f"   index {name}")
        cluster.query(definition, url)
    say("   vacuum")
    cluster.query("VACUUM (ANALYZE)", url)
    cluster.query("CHECKPOINT", url)


def sign(daemon):
    """Gives the app the key that Apple wants, which only the daemon can seal."""
    production = {"key_id": "FGHIJ67890", "private_key": signing_key()}
    daemon.call("PUT", f"/v1/apps/{APP}", {"team_id": "ABCDE12345", "environments": {"production": production}})

import OrchestratorTestSupport

/// The rows that programs of one version of the schema leave in a database, and what they write while they run.
///
/// A later migration that brings a table needs a release with rows of it.
struct SchemaRelease: Sendable {
    let version: Int
    /// SQL that is run once, when the schema is at this version.
    let rows: String
    /// Statements that programs of this version run all the time, each on its own.
    var load: [String] = []

    /// In the order of their versions.
    static let all = [
        baseline, rejudgements, topics, receipts, continuations, pendingCards, follows, sentWithRing, deviceTokens,
    ]

    /// An activity of each kind in the middle of its life, and a row in every other table. The signing key is written by
    /// the test, which knows the secret.
    ///
    /// `running` is at revision 3: the walk has brought revision 2, a barrier with an alert, to the first of two
    /// riders. One rider has an app of a known version. `over` has two rings, and the second has not brought the end to
    /// its only rider yet. `past` is long over.
    private static let baseline = SchemaRelease(
        version: 1,
        rows: """
            INSERT INTO api_keys (name, secret_sha256, scopes) VALUES ('backend', decode(repeat('ab', 32), 'hex'), '{publish}');
            INSERT INTO ticket_keys (ticket_key_id, bundle_id, algorithm, key_sealed)
            VALUES (gen_random_uuid(), 'com.example.app', 'HS256', decode('ab', 'hex'));
            INSERT INTO webhooks (bundle_id, webhook_id, url, secret_sealed, batch_size, transaction_id, event_id)
            VALUES ('com.example.app', 'audit', 'https://hooks.example.com', decode('ab', 'hex'), 100, pg_current_xact_id(), 0);
            INSERT INTO ticket_revocations (bundle_id, subject_sha256, revoked_before)
            VALUES ('com.example.app', decode(repeat('ab', 32), 'hex'), now());
            INSERT INTO activity_types (bundle_id, type_name, policy)
            VALUES ('com.example.app', 'Game', '{"start_retry_seconds": 20}');
            INSERT INTO type_versions (bundle_id, type_name, version, attributes_schema, content_state_schema)
            VALUES ('com.example.app', 'Game', 1, '{"type": "object"}', '{"type": "object", "required": ["score"]}');
            INSERT INTO devices (bundle_id, device_id, environment, os_version)
            SELECT 'com.example.app', 'd' || n, 'production', '18.1' FROM generate_series(1, 9) AS n;
            INSERT INTO start_tokens (device_key, type_name, token, registered_at)
            SELECT device_key, 'Game', decode('5a0' || substr(device_id, 2), 'hex'), now() - interval '1 hour' FROM devices;

            INSERT INTO activities (bundle_id, activity_id, environment, type_name, delivery, state, attributes, start_body,
                revision, stamp, started_at, ended_at)
            SELECT 'com.example.app', id, 'production', 'Game', delivery::delivery_mode, state::activity_state, '{}',
                   '{"type": "Game", "attributes": {}, "content_state": {"score": 0}}', revision,
                   extract(epoch FROM now())::bigint - 60, now() - interval '1 hour',
                   CASE state WHEN 'ended' THEN now() - interval '2 minutes' END
            FROM (VALUES ('running', 'tokens', 'live', 3), ('broadcast', 'channel', 'live', 2), ('over', 'tokens', 'ended', 2),
                  ('loaded', 'tokens', 'live', 1)) AS a(id, delivery, state, revision);
            INSERT INTO changes (activity_key, revision, kind, content_state, alert, urgency, must_deliver, timestamp, stamped_at,
                accepted_at)
            SELECT activity_key, c.revision, c.kind::change_kind, json_build_object('score', c.score), c.alert::json, 'routine',
                   c.barrier, stamp - 10 + c.revision, now() - interval '70 seconds', now() - interval '70 seconds'
            FROM (VALUES ('running', 1, 'start', 0, '{"title": "Kick-off", "body": "Look"}', false),
                  ('running', 2, 'update', 1, '{"title": "Messi", "body": "Look"}', true), ('running', 3, 'update', 2, NULL, false),
                  ('broadcast', 1, 'start', 0, NULL, false), ('broadcast', 2, 'update', 1, NULL, false),
                  ('over', 1, 'start', 0, NULL, false), ('over', 2, 'end', 1, NULL, false), ('loaded', 1, 'start', 0, NULL, false)
                 ) AS c(id, revision, kind, score, alert, barrier)
            JOIN activities ON activity_id = c.id;
            INSERT INTO audience_members (activity_key, kind, member_id, bundle_id)
            SELECT activity_key, 'device', device_id, bundle_id FROM activities JOIN devices USING (bundle_id)
            WHERE activity_id = 'running' AND device_id <= 'd6';

            INSERT INTO segments (activity_key, segment, due_at, completed_revision, lap_revision, lap_origin, alert_revision,
                alert_origin, cursor)
            SELECT activity_key, 0, now(), CASE activity_id WHEN 'broadcast' THEN revision ELSE 1 END,
                   CASE activity_id WHEN 'running' THEN 2 END, CASE activity_id WHEN 'running' THEN 0 END,
                   CASE activity_id WHEN 'running' THEN 2 END, CASE activity_id WHEN 'running' THEN 0 END,
                   CASE activity_id WHEN 'running' THEN (SELECT device_key FROM devices WHERE device_id = 'd1') ELSE 0 END
            FROM activities;
            INSERT INTO segments (activity_key, segment, due_at, completed_revision)
            SELECT activity_key, -1, now(), 1 FROM activities WHERE activity_id = 'broadcast';
            INSERT INTO channels (bundle_id, environment, storage, state, apns_channel_id, activity_key, ready_at)
            SELECT bundle_id, environment, 'most_recent', 'ready', 'channel1', activity_key, now() FROM activities
            WHERE activity_id = 'broadcast';

            INSERT INTO starts (activity_key, device_key, state, attempts, revision, due_at, claimed_at)
            SELECT activity_key, device_key, s.state::start_state, s.attempts, 1,
                   CASE WHEN s.state IN ('pending', 'claimed') THEN now() END,
                   CASE WHEN s.attempts > 0 THEN now() - interval '50 minutes' END
            FROM (VALUES ('d1', 'settled', 1), ('d2', 'settled', 1), ('d3', 'sent', 1), ('d4', 'claimed', 1), ('d5', 'pending', 0),
                  ('d6', 'settled', 1)) AS s(id, state, attempts)
            JOIN devices ON device_id = s.id JOIN activities ON activity_id = 'running';
            INSERT INTO subscriptions (activity_key, device_key, mode, state, update_token, known_revision, heard_revision, due_at,
                registered_at)
            SELECT activity_key, device_key, s.mode::subscription_mode, s.state::subscription_state, decode(s.token, 'hex'),
                   s.known, s.known, CASE s.state WHEN 'due' THEN now() END, now() - interval '50 minutes'
            FROM (VALUES ('running', 'd1', 'token', 'riding', 'aa01', 1), ('running', 'd2', 'token', 'riding', 'aa02', 1),
                  ('running', 'd3', 'token', 'waiting_for_token', NULL, 1), ('running', 'd6', 'token', 'due', 'aa06', 1),
                  ('broadcast', 'd1', 'channel', 'riding', NULL, 1), ('over', 'd7', 'token', 'riding', 'aa07', 1),
                  ('loaded', 'd8', 'token', 'riding', 'aa08', 1)) AS s(id, device, mode, state, token, known)
            JOIN devices ON device_id = s.device JOIN activities ON activity_id = s.id;
            UPDATE subscriptions SET started_at = registered_at,
                check_at = CASE WHEN state NOT IN ('over', 'dead') THEN registered_at + interval '8 hours' END;
            INSERT INTO budget_ledger (activity_key, class, revision, priority, reason)
            SELECT activity_key, 'ordinary', 2, 10, 'alert' FROM activities WHERE activity_id = 'running';
            INSERT INTO wake_ups (activity_key) SELECT activity_key FROM activities;
            INSERT INTO schedules (activity_key, bundle_id, kind, due_at, body)
            SELECT activity_key, bundle_id, s.kind::schedule_kind, now() + s.wait, s.body::json
            FROM (VALUES ('running', 'update', interval '-1 second', '{"content_state": {"score": 3}}'),
                  ('broadcast', 'end', interval '1 day', '{}')) AS s(id, kind, wait, body)
            JOIN activities ON activity_id = s.id;
            INSERT INTO idempotency_keys (scope, body_sha256, status, answer)
            VALUES (sha256(convert_to(E'backend\\nPOST\\n/updates\\ngoal', 'UTF8')), decode('ab', 'hex'), 202,
                    '{"activity_id": "running", "revision": 2, "timestamp": 1781193600}');

            INSERT INTO events (kind, bundle_id, environment, activity_id, device_id, detail)
            VALUES ('token_died', 'com.example.app', 'production', 'running', 'd1', '{"token": "start", "reason": "410"}');
            INSERT INTO provider_tokens (team_id, key_id, public_key) VALUES ('ABCDE12345', 'KEY1234567', decode('ab', 'hex'));

            INSERT INTO starts (activity_key, device_key, state, fell_back, reason)
            SELECT activity_key, device_key, 'withheld', true, 'activities_disabled' FROM activities, devices
            WHERE activity_id = 'running' AND device_id = 'd7';

            INSERT INTO subscriptions (activity_key, device_key, mode, state, started_at, check_at, woken)
            SELECT activity_key, device_key, 'token', 'waiting_for_token', now(), now() + interval '1 hour', true
            FROM activities, devices WHERE activity_id = 'running' AND device_id = 'd8';

            INSERT INTO sending_halts (bundle_id, environment, suspect_from, answers, rejections, probe_at)
            VALUES ('com.example.app', 'sandbox', now(), 100, 50, now() + interval '1 minute');

            UPDATE changes SET min_interval_seconds = 30 FROM activities AS a
            WHERE a.activity_key = changes.activity_key AND activity_id = 'broadcast' AND changes.revision = 2;
            UPDATE segments SET pushed_at = now() - interval '1 minute';

            INSERT INTO channels (bundle_id, environment, storage, state, apns_channel_id, ready_at)
            VALUES ('com.example.app', 'production', 'most_recent', 'ready', 'channel2', now());
            INSERT INTO unknown_channels (bundle_id, environment, apns_channel_id)
            VALUES ('com.example.app', 'production', 'channel3');
            INSERT INTO channel_sweeps (bundle_id, environment, reconciled_at, at_apple)
            VALUES ('com.example.app', 'production', now(), 3);

            INSERT INTO answer_counts (daemon, bundle_id, environment, answers, rejections)
            VALUES (gen_random_uuid(), 'com.example.app', 'production', 10, 1);

            INSERT INTO timeline (at, kind, activity_key, event, revision)
            SELECT now(), 'push', activity_key, 'start', 1 FROM activities WHERE activity_id = 'running';

            UPDATE segments SET alert_stamp = 1781193600 WHERE segment = -1;

            INSERT INTO events (kind, bundle_id, environment, activity_id, detail)
            VALUES ('pushes_answered', 'com.example.app', 'production', 'running', '{"event": "update", "pushes": 2}');

            INSERT INTO pushes (push_id, bundle_id, environment, token, push_type, priority, body, deadline)
            VALUES (gen_random_uuid(), 'com.example.app', 'production', decode('ab', 'hex'), 'alert', 10, '{}',
                    now() + interval '1 hour');

            INSERT INTO audit_log (key_id, key_name, request_id, action, bundle_id, subject, after)
            VALUES ('bootstrap', NULL, 'request-1', 'type_put', 'com.example.app', 'Game', '{"version": 1}');

            INSERT INTO daemons DEFAULT VALUES;
            INSERT INTO partitions (partition, owner, epoch) VALUES (0, 1, 1);

            UPDATE devices SET app_version = '2.1' WHERE device_id = 'd1';
            INSERT INTO activity_app_versions (activity_key, app_version, is_withheld, decodes_from)
            SELECT activity_key, '2.1', false, 1 FROM activities WHERE activity_id = 'running';

            INSERT INTO subscriptions (activity_key, device_key, mode, state, update_token, known_revision)
            SELECT activity_key, device_key, 'token', 'riding', decode('ac', 'hex'), 1
            FROM activities, devices WHERE activity_id = 'loaded' AND device_id = 'd1'
            ON CONFLICT DO NOTHING;

            INSERT INTO segments (activity_key, segment, due_at, completed_revision, after_key)
            SELECT activity_key, 1, now(), 1, device_key - 1 FROM activities, devices
            WHERE activity_id = 'over' AND device_id = 'd7';
            UPDATE segments AS s SET through_key = p.after_key FROM segments AS p
            WHERE p.activity_key = s.activity_key AND p.segment = 1 AND s.segment = 0;

            UPDATE changes SET request_id = 'request-1',
                traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
            WHERE revision = 2;
            UPDATE schedules SET request_id = 'request-2';

            INSERT INTO activities (bundle_id, activity_id, environment, type_name, delivery, state, attributes, start_body,
                started_at, ended_at)
            VALUES ('com.example.app', 'past', 'production', 'Game', 'tokens', 'ended', '{}', '{}',
                now() - interval '90 days', now() - interval '89 days');
            INSERT INTO segments (activity_key, segment, completed_revision)
            SELECT activity_key, 0, 1 FROM activities WHERE activity_id = 'past';
            INSERT INTO changes (activity_key, revision, kind, content_state, urgency, accepted_at)
            SELECT activity_key, 1, 'start', '{}', 'routine', started_at FROM activities WHERE activity_id = 'past';

            UPDATE segments SET unsent_after = 1 WHERE lap_revision = 2;

            UPDATE segments SET retry_at = now() - interval '1 second' WHERE due_at IS NOT NULL;
            UPDATE channels SET starts_until = now() + interval '1 minute', starts_from = 1 WHERE activity_key IS NOT NULL;
            """,
        load: [
            """
            WITH newest AS (
                UPDATE activities SET revision = revision + 1, stamp = greatest(stamp + 1, extract(epoch FROM now())::bigint)
                WHERE activity_id = 'loaded' RETURNING activity_key, revision, stamp
            )
            INSERT INTO changes (activity_key, revision, kind, content_state, urgency, timestamp, stamped_at, accepted_at)
            SELECT activity_key, revision, 'update', json_build_object('score', revision - 1), 'routine', stamp,
                   clock_timestamp(), clock_timestamp() FROM newest
            """,
            """
            UPDATE segments SET due_at = least(due_at, clock_timestamp()), wakes = wakes + 1
            WHERE activity_key = (SELECT activity_key FROM activities WHERE activity_id = 'loaded')
            """,
            """
            INSERT INTO devices AS d (bundle_id, device_id, environment) VALUES ('com.example.app', 'd9', 'production')
            ON CONFLICT (bundle_id, device_id) DO UPDATE SET updated_at = now()
            """,
            """
            INSERT INTO subscriptions AS s (activity_key, device_key, mode, state, update_token, known_revision, heard_revision,
                due_at, registered_at)
            SELECT activity_key, device_key, 'token', 'due', decode('aa09', 'hex'), 0, 1, clock_timestamp(), clock_timestamp()
            FROM activities, devices WHERE activity_id = 'loaded' AND device_id = 'd9'
            ON CONFLICT (activity_key, device_key) DO UPDATE SET registered_at = EXCLUDED.registered_at, failures = 0
            """,
            "INSERT INTO wake_ups (activity_key) SELECT activity_key FROM activities WHERE activity_id = 'loaded'",
            "INSERT INTO events (kind, bundle_id) VALUES ('clock_skew', 'com.example.app')",
        ]
    )

    private static let rejudgements = SchemaRelease(
        version: 2,
        rows: "INSERT INTO rejudgements (bundle_id, type_name) VALUES ('com.example.app', 'Game')"
    )

    private static let topics = SchemaRelease(
        version: 3,
        rows: """
            INSERT INTO topic_follows (bundle_id, topic, user_id) VALUES ('com.example.app', 'team:ajax', 'ada');
            INSERT INTO topic_follows (bundle_id, topic, device_key)
            SELECT bundle_id, 'team:ajax', device_key FROM devices WHERE device_id = 'd9';
            INSERT INTO audience_topics (activity_key, topic, bundle_id, except_topics)
            SELECT activity_key, 'team:ajax', bundle_id, '{muted}' FROM activities WHERE activity_id = 'past';
            """
    )

    private static let receipts = SchemaRelease(
        version: 4,
        rows: "UPDATE subscriptions SET shown_revision = 1, shown_at = now() WHERE update_token = decode('aa01', 'hex')"
    )

    private static let continuations = SchemaRelease(
        version: 5,
        rows: """
            INSERT INTO continuations (activity_key, device_key, activitykit_id, started_at, attempts, handed_over)
            SELECT activity_key, device_key, 'old', now() - interval '1 day', 1, true
            FROM activities JOIN devices USING (bundle_id) WHERE activity_id = 'past' AND device_id = 'd9'
            """
    )

    private static let pendingCards = SchemaRelease(
        version: 6,
        rows: """
            INSERT INTO subscriptions (activity_key, device_key, mode, state, reason, update_token, pending_since)
            SELECT activity_key, device_key, 'token', 'withheld', 'pending', decode('aa12', 'hex'), now()
            FROM activities JOIN devices USING (bundle_id) WHERE activity_id = 'loaded' AND device_id = 'd2'
            """
    )

    private static let follows = SchemaRelease(
        version: 7,
        rows: """
            INSERT INTO topic_follows (bundle_id, topic, user_id) VALUES ('com.example.app', 'team:psv', 'ada');
            INSERT INTO topic_follows (bundle_id, topic, device_key)
            SELECT bundle_id, 'team:psv', device_key FROM devices WHERE device_id = 'd2'
            """
    )

    private static let sentWithRing = SchemaRelease(
        version: 8,
        rows: """
            UPDATE changes SET sent_with_ring = true FROM activities AS a
            WHERE a.activity_key = changes.activity_key AND activity_id = 'loaded'
            """
    )

    private static let deviceTokens = SchemaRelease(
        version: 9,
        rows: """
            UPDATE devices SET device_token = decode('de09', 'hex'), token_registered_at = now(), token_rejected_at = now()
            WHERE device_id = 'd9'
            """
    )
}

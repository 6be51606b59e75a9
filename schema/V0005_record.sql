-- version: 1
-- compatible_from: 1

-- What happened: events, the timeline, the audit log.

CREATE TABLE events (
    event_id       bigint NOT NULL DEFAULT nextval('events_event_id_seq'),
    transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
    at             timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind           text NOT NULL CHECK (kind ~ '^[a-z][a-z0-9_]{0,62}$'),
    bundle_id      text,
    environment    apns_environment,
    activity_id    text,
    device_id      text,
    detail         json NOT NULL DEFAULT '{}'
) PARTITION BY RANGE (at);
COMMENT ON TABLE events IS
    'What operators and callers want to know, in the order of commits. One partition per day (UTC). Never holds tokens or payloads.';
COMMENT ON COLUMN events.event_id IS 'Order within one transaction.';
COMMENT ON COLUMN events.transaction_id IS
    'Ids are given before the commit. A reader goes by (transaction_id, event_id) and stops below the oldest open transaction, so nothing appears behind it.';
COMMENT ON COLUMN events.bundle_id IS 'Names instead of keys, because an event outlives its subject.';
CREATE INDEX events_in_order ON events (transaction_id, event_id);
CREATE INDEX events_by_device ON events (bundle_id, device_id) WHERE device_id IS NOT NULL;
CREATE INDEX events_by_activity ON events (bundle_id, activity_id, at) WHERE activity_id IS NOT NULL;

CREATE TABLE events_default PARTITION OF events DEFAULT;
COMMENT ON TABLE events_default IS
    'Takes rows whose day has no partition yet. They move when the partition is made.';

ALTER SEQUENCE events_event_id_seq OWNED BY events.event_id;

CREATE TABLE timeline (
    entry_id     bigserial NOT NULL,
    at           timestamptz NOT NULL,
    kind         text NOT NULL CHECK (kind IN ('push', 'batch', 'refused', 'lost')),
    activity_key bigint NOT NULL,
    device_key   bigint,
    segment      smallint,
    event        text,
    revision     bigint,
    priority     smallint,
    outcome      text,
    status       smallint,
    reason       text,
    apns_id      text,
    unique_id    text,
    latency      interval,
    first_device bigint,
    last_device  bigint,
    counts       json
) PARTITION BY RANGE (at);
COMMENT ON TABLE timeline IS
    'What left for whom, and what APNs answered. One partition per day (UTC). It explains and decides nothing; rows are written afterwards and may be missing. Never holds tokens or payloads.';
COMMENT ON COLUMN timeline.entry_id IS 'Order within one moment.';
COMMENT ON COLUMN timeline.activity_key IS
    'Not a foreign key. Rows of a deleted activity go by age; rows of a deleted device go with it.';
COMMENT ON COLUMN timeline.device_key IS 'Null for a batch, a broadcast and what concerns the whole activity.';
COMMENT ON COLUMN timeline.event IS 'What was sent: start, update, end. alert and wake are ordinary pushes.';
COMMENT ON COLUMN timeline.first_device IS
    'A batch of the ring went to all riding cards from this device key to last_device. Null for any other batch.';
COMMENT ON COLUMN timeline.counts IS
    'How many of a batch got which answer, as {"200": 993, "410 Unregistered": 7}; or how many rows were lost.';
CREATE INDEX timeline_by_activity ON timeline (activity_key, at, entry_id);
CREATE INDEX timeline_by_device ON timeline (device_key, activity_key, at) WHERE device_key IS NOT NULL;

CREATE TABLE timeline_default PARTITION OF timeline DEFAULT;
COMMENT ON TABLE timeline_default IS
    'Takes rows whose day has no partition yet. They move when the partition is made.';

CREATE TABLE audit_log (
    entry_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    key_id     text NOT NULL,
    key_name   text,
    request_id text NOT NULL,
    action     text NOT NULL CHECK (action ~ '^[a-z][a-z_]{0,62}$'),
    bundle_id  text,
    subject    text NOT NULL,
    before     json,
    after      json
);
COMMENT ON TABLE audit_log IS
    'One row per action of an operator, written in its transaction. Never holds secrets, tokens or the ids of users.';
COMMENT ON COLUMN audit_log.key_id IS
    'The API key, or bootstrap. Names instead of keys, because an entry outlives its subject.';
COMMENT ON COLUMN audit_log.before IS 'The subject before. Null if it was made.';
COMMENT ON COLUMN audit_log.after IS 'The subject after. Null if it was deleted.';
CREATE INDEX audit_log_by_app ON audit_log (bundle_id, entry_id);
CREATE INDEX audit_log_by_action ON audit_log (action, entry_id);

CREATE TABLE webhooks (
    webhook_key            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    bundle_id              text NOT NULL REFERENCES apps ON DELETE CASCADE,
    webhook_id             text NOT NULL,
    url                    text NOT NULL,
    kinds                  text[],
    batch_size             smallint NOT NULL CHECK (batch_size BETWEEN 1 AND 1000),
    secret_sealed          bytea NOT NULL,
    pause_reason           text CHECK (pause_reason IN ('operator', 'unreachable', 'gone')),
    paused_at              timestamptz,
    created_at             timestamptz NOT NULL DEFAULT now(),
    version                bigint NOT NULL DEFAULT 1,
    transaction_id         xid8 NOT NULL,
    event_id               bigint NOT NULL,
    read_at                timestamptz NOT NULL DEFAULT clock_timestamp(),
    message_id             text,
    message_transaction_id xid8,
    message_event_id       bigint,
    failures               integer NOT NULL DEFAULT 0,
    failing_since          timestamptz,
    next_try_at            timestamptz,
    last_error             text,
    delivered_at           timestamptz,
    UNIQUE (bundle_id, webhook_id),
    CHECK ((pause_reason IS NULL) = (paused_at IS NULL))
);
COMMENT ON TABLE webhooks IS
    'Addresses that are told of events, each with its place in the stream of events.';
COMMENT ON COLUMN webhooks.webhook_key IS
    'Its remainder by 64 is the partition whose owner delivers.';
COMMENT ON COLUMN webhooks.kinds IS 'Null: all.';
COMMENT ON COLUMN webhooks.secret_sealed IS
    'Under AES-256-GCM: nonce, ciphertext, tag. Bundle id and webhook id are authenticated with it.';
COMMENT ON COLUMN webhooks.version IS
    'Grows with what operators change. A worker that read an older one writes nothing.';
COMMENT ON COLUMN webhooks.transaction_id IS 'With event_id, the place up to which everything is delivered.';
COMMENT ON COLUMN webhooks.read_at IS 'About the time of that place, to tell whether later events have been deleted.';
COMMENT ON COLUMN webhooks.message_id IS
    'The message that is on its way; it reaches to message_transaction_id and message_event_id. A repeat has the same id and the same events.';

-- version: 1
-- compatible_from: 1

-- Broadcast channels at Apple.

CREATE TYPE channel_storage AS ENUM ('none', 'most_recent');
CREATE TYPE channel_state AS ENUM ('creating', 'ready', 'deleting', 'deleted', 'lost');

CREATE TABLE channels (
    channel_id      uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    bundle_id       text NOT NULL REFERENCES apps ON DELETE CASCADE,
    environment     apns_environment NOT NULL,
    storage         channel_storage NOT NULL,
    state           channel_state NOT NULL DEFAULT 'creating',
    apns_channel_id text,
    activity_key    bigint REFERENCES activities,
    created_at      timestamptz NOT NULL DEFAULT now(),
    delete_at       timestamptz,
    deleted_at      timestamptz,
    failures        smallint NOT NULL DEFAULT 0,
    reason          text,
    ready_at        timestamptz,
    lost_at         timestamptz,
    starts_until    timestamptz,
    starts_from     bigint,
    ended_through   bigint,
    UNIQUE (bundle_id, environment, apns_channel_id),
    CHECK (state = 'creating' OR apns_channel_id IS NOT NULL),
    CHECK ((state = 'deleted') = (deleted_at IS NOT NULL)),
    CHECK (state = 'creating' OR ready_at IS NOT NULL),
    CHECK ((state IN ('creating', 'ready', 'deleting', 'deleted')) OR lost_at IS NOT NULL),
    CHECK ((starts_until IS NULL) = (starts_from IS NULL))
);
COMMENT ON TABLE channels IS
    'Broadcast channels at Apple. A channel serves one activity in its whole life.';
COMMENT ON COLUMN channels.activity_key IS 'The one activity that it serves. Null: it is in the pool.';
COMMENT ON COLUMN channels.delete_at IS
    'When the grace time after the end is over, or when a failed deletion is repeated.';
COMMENT ON COLUMN channels.ready_at IS 'When Apple had made it.';
COMMENT ON COLUMN channels.lost_at IS
    'When it was missing at Apple although nobody had deleted it. Its activity then gets another one.';
COMMENT ON COLUMN channels.starts_until IS
    'Until then, a start that names the channel may make a card. Then the newest broadcast is repeated once. Null: no repeat is due.';
COMMENT ON COLUMN channels.starts_from IS
    'The oldest revision that one of these starts may carry. Only newer broadcasts are repeated.';
COMMENT ON COLUMN channels.ended_through IS
    'The channel is lost. Its cards up to this device are over. Null: all are over, or none has to be.';
CREATE INDEX channels_delete_due ON channels (delete_at) WHERE delete_at IS NOT NULL AND state IN ('ready', 'deleting');
CREATE INDEX channels_by_app ON channels (bundle_id, environment, channel_id);
CREATE UNIQUE INDEX channels_serving ON channels (activity_key) WHERE lost_at IS NULL;
CREATE INDEX channels_by_activity ON channels (activity_key);
CREATE INDEX channels_unused ON channels (bundle_id, environment, storage, created_at)
    WHERE state = 'ready' AND activity_key IS NULL AND delete_at IS NULL;
CREATE INDEX channels_ending_cards ON channels (channel_id) WHERE ended_through IS NOT NULL;

CREATE TABLE unknown_channels (
    bundle_id       text NOT NULL REFERENCES apps ON DELETE CASCADE,
    environment     apns_environment NOT NULL,
    apns_channel_id text NOT NULL,
    first_seen_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (bundle_id, environment, apns_channel_id)
);
COMMENT ON TABLE unknown_channels IS
    'Channels in Apple''s list of an app that Tally has not made. If the app is channels_exclusive, they are deleted at Apple after 24 hours.';

CREATE TABLE channel_sweeps (
    bundle_id     text NOT NULL,
    environment   apns_environment NOT NULL,
    due_at        timestamptz NOT NULL DEFAULT now(),
    failures      smallint NOT NULL DEFAULT 0,
    lease_owner   uuid,
    lease_until   timestamptz,
    reconciled_at timestamptz,
    at_apple      integer CHECK (at_apple >= 0),
    PRIMARY KEY (bundle_id, environment),
    FOREIGN KEY (bundle_id, environment) REFERENCES signing_keys ON DELETE CASCADE,
    CHECK ((lease_owner IS NULL) = (lease_until IS NULL)),
    CHECK ((reconciled_at IS NULL) = (at_apple IS NULL))
);
COMMENT ON TABLE channel_sweeps IS
    'The lease of the daemon that fills the pool of an app and environment, and compares its channels with Apple''s list.';
COMMENT ON COLUMN channel_sweeps.due_at IS 'After a failure: not before this time.';
COMMENT ON COLUMN channel_sweeps.at_apple IS 'Channels in Apple''s list at reconciled_at.';

CREATE VIEW channel_pools AS
SELECT k.bundle_id, k.environment, p.channel_pool AS wanted, kind.storage, coalesce(ready.unused, 0) AS unused
FROM signing_keys AS k
JOIN apps AS p USING (bundle_id)
CROSS JOIN LATERAL (
    SELECT CASE WHEN bool_and(coalesce(t.policy ->> 'channel_storage', 'most_recent') = 'none')
        THEN 'none'::channel_storage ELSE 'most_recent' END AS storage
    FROM activity_types AS t WHERE t.bundle_id = k.bundle_id
) AS kind
CROSS JOIN LATERAL (
    SELECT count(*) AS unused FROM channels AS c
    WHERE c.bundle_id = k.bundle_id AND c.environment = k.environment AND c.storage = kind.storage
      AND c.state = 'ready' AND c.activity_key IS NULL AND c.delete_at IS NULL
) AS ready;
COMMENT ON VIEW channel_pools IS
    'How many channels to keep ready. A pool holds channels that store the most recent message, unless every type of the app says none.';

-- version: 7
-- compatible_from: 7

-- Channels that Apple has lost, and those that it has and we do not know ---------------------------------------

-- The new word cannot be used before this is committed; what follows says the same by other words.
ALTER TYPE channel_state ADD VALUE 'lost';

ALTER TABLE channels ADD COLUMN ready_at timestamptz, ADD COLUMN lost_at timestamptz;
UPDATE channels SET ready_at = created_at WHERE state <> 'creating';
ALTER TABLE channels
    DROP CONSTRAINT channels_activity_key_key,
    ADD CHECK (state = 'creating' OR ready_at IS NOT NULL),
    ADD CHECK (state IN ('creating', 'ready', 'deleting', 'deleted') OR lost_at IS NOT NULL);
COMMENT ON COLUMN channels.ready_at IS 'When Apple had made it.';
COMMENT ON COLUMN channels.lost_at IS
    'When it was found to be gone at Apple although nobody had deleted it. Its activity has another one then; no channel ever has another activity.';
CREATE UNIQUE INDEX channels_serving ON channels (activity_key) WHERE lost_at IS NULL;
CREATE INDEX channels_by_activity ON channels (activity_key);
CREATE INDEX channels_unused ON channels (bundle_id, environment, storage, created_at)
    WHERE state = 'ready' AND activity_key IS NULL AND delete_at IS NULL;

CREATE TABLE unknown_channels (
    bundle_id       text NOT NULL REFERENCES apps ON DELETE CASCADE,
    environment     apns_environment NOT NULL,
    apns_channel_id text NOT NULL,
    first_seen_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (bundle_id, environment, apns_channel_id)
);
COMMENT ON TABLE unknown_channels IS
    'Channels in Apple''s list of an app that we have no record of. Deleted at Apple when the app is channels_exclusive and they were seen for 24 h.';

-- One sweeper per app and environment, across daemons ----------------------------------------------------------

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
COMMENT ON TABLE channel_sweeps IS 'Who fills the pool of an app''s environment and compares its channels with Apple''s list.';
COMMENT ON COLUMN channel_sweeps.due_at IS 'Not before this time, after a failure.';
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
    'What is to be kept ready. A pool holds channels that store the most recent message, unless every type of the app says none.';

-- version: 2
-- compatible_from: 1

-- Events: what operators and callers may want to know of, in the order in which it was committed -----------------

CREATE TABLE events (
    event_id       bigserial NOT NULL,
    transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
    at             timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind           text NOT NULL CHECK (kind ~ '^[a-z][a-z0-9_]{0,62}$'),
    bundle_id      text,
    environment    apns_environment,
    activity_id    text,
    device_id      text,
    detail         json NOT NULL DEFAULT '{}'
) PARTITION BY RANGE (at);
COMMENT ON TABLE events IS 'One partition per day (UTC), made ahead and dropped by age by the daemon; never holds tokens or payloads.';
COMMENT ON COLUMN events.event_id IS 'Order within one transaction.';
COMMENT ON COLUMN events.transaction_id IS
    'Ids are given out before they are committed. A reader goes by (transaction_id, event_id) and stops below the oldest transaction that still runs, so that nothing appears behind it.';
COMMENT ON COLUMN events.bundle_id IS 'Names, not keys: an event outlives what it speaks of.';
CREATE INDEX events_in_order ON events (transaction_id, event_id);
CREATE INDEX events_by_device ON events (bundle_id, device_id) WHERE device_id IS NOT NULL;

CREATE TABLE events_default PARTITION OF events DEFAULT;
COMMENT ON TABLE events_default IS 'Takes what has no partition yet, as after a long rest; moved to its own when that is made.';

-- Provider tokens, shared by all daemons -------------------------------------------------------------------------

CREATE TABLE provider_tokens (
    team_id        text NOT NULL CHECK (length(team_id) = 10),
    key_id         text NOT NULL CHECK (length(key_id) = 10),
    public_key     bytea NOT NULL,
    token_sealed   bytea,
    issued_at      timestamptz,
    kept_until     timestamptz,
    PRIMARY KEY (team_id, key_id, public_key),
    CHECK ((token_sealed IS NULL) = (issued_at IS NULL))
);
COMMENT ON TABLE provider_tokens IS 'One token per team and key: Apple refuses new ones more often than every 20 minutes. Whoever signs one holds the row.';
COMMENT ON COLUMN provider_tokens.public_key IS 'SHA-256 of the key''s public half: a key that was replaced under its old id has tokens of its own.';
COMMENT ON COLUMN provider_tokens.token_sealed IS 'The token under AES-256-GCM: nonce, ciphertext, tag; team and key are authenticated with it.';
COMMENT ON COLUMN provider_tokens.issued_at IS 'Its iat: a whole second of the database''s clock.';
COMMENT ON COLUMN provider_tokens.kept_until IS 'Until then no new token is made, because Apple complained of too many.';

-- version: 12
-- compatible_from: 7

-- Ordinary pushes: accepted, and not settled yet -----------------------------------------------------------------

CREATE TABLE pushes (
    push_key    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    push_id     uuid NOT NULL,
    apns_id     uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
    bundle_id   text NOT NULL REFERENCES apps ON DELETE CASCADE,
    environment apns_environment NOT NULL,
    device_key  bigint REFERENCES devices ON DELETE CASCADE,
    token       bytea NOT NULL CHECK (length(token) BETWEEN 1 AND 256),
    push_type   text NOT NULL,
    priority    smallint NOT NULL CHECK (priority IN (1, 5, 10)),
    expiration  bigint CHECK (expiration >= 0),
    collapse_id text CHECK (octet_length(collapse_id) BETWEEN 1 AND 64),
    body        bytea NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    deadline    timestamptz NOT NULL,
    due_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    failures    smallint NOT NULL DEFAULT 0
);
COMMENT ON TABLE pushes IS 'One row per token, until APNs has taken or refused the push, or its deadline has passed; the outcome is an event.';
COMMENT ON COLUMN pushes.push_id IS 'What the caller was told; pushes of one request share it.';
COMMENT ON COLUMN pushes.apns_id IS 'The apns-id of every try.';
COMMENT ON COLUMN pushes.device_key IS 'Whose own token it is; null for a token that the caller gave.';
COMMENT ON COLUMN pushes.due_at IS 'When to try. Whoever takes a row moves this on by its lease, so that another daemon tries if it dies.';
CREATE INDEX pushes_due ON pushes (due_at);
CREATE INDEX pushes_by_device ON pushes (device_key) WHERE device_key IS NOT NULL;

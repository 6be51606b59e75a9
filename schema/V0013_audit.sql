-- version: 13
-- compatible_from: 7

-- What operators did ---------------------------------------------------------------------------------------------

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
COMMENT ON TABLE audit_log IS 'One row per action of an operator, written in its transaction; never holds secrets, tokens or the ids of users.';
COMMENT ON COLUMN audit_log.key_id IS 'The API key, or bootstrap. Names, not references: an entry outlives what it speaks of.';
COMMENT ON COLUMN audit_log.before IS 'How the subject stood; null if it was made.';
COMMENT ON COLUMN audit_log.after IS 'How it stands; null if it is gone.';
CREATE INDEX audit_log_by_app ON audit_log (bundle_id, entry_id);

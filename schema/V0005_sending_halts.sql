-- version: 5
-- compatible_from: 1

-- Halts: a wrong key or host must not erase a registry (promise 9) ------------------------------------------------

CREATE TABLE sending_halts (
    bundle_id    text NOT NULL REFERENCES apps ON DELETE CASCADE,
    environment  apns_environment NOT NULL,
    halted_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    suspect_from timestamptz NOT NULL,
    answers      integer NOT NULL CHECK (answers > 0),
    rejections   integer NOT NULL CHECK (rejections BETWEEN 1 AND answers),
    probes       smallint NOT NULL DEFAULT 0 CHECK (probes >= 0),
    probe_at     timestamptz NOT NULL,
    PRIMARY KEY (bundle_id, environment)
);
COMMENT ON TABLE sending_halts IS 'While a row is here, no daemon sends anything for that app and environment but a few pushes now and then, to see whether tokens are taken again.';
COMMENT ON COLUMN sending_halts.suspect_from IS 'Tokens that were rejected since then are revived when the halt is lifted.';
COMMENT ON COLUMN sending_halts.probe_at IS 'When the next few pushes are allowed; moved on by the daemon that takes them.';

ALTER TABLE subscriptions ADD COLUMN rejected_at timestamptz;
ALTER TABLE start_tokens ADD COLUMN rejected_at timestamptz;
COMMENT ON COLUMN subscriptions.rejected_at IS 'When its token last became rejected.';
COMMENT ON COLUMN start_tokens.rejected_at IS 'When it last became rejected.';
CREATE INDEX subscriptions_rejected ON subscriptions (rejected_at) WHERE state = 'rejected';
CREATE INDEX start_tokens_rejected ON start_tokens (rejected_at) WHERE state = 'rejected';

-- Whatever rejects a token leaves the time of it.
CREATE FUNCTION stamp_rejection() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.rejected_at := clock_timestamp();
    RETURN NEW;
END
$$;
CREATE TRIGGER subscriptions_stamp_rejection BEFORE UPDATE OF state ON subscriptions
    FOR EACH ROW WHEN (NEW.state = 'rejected' AND OLD.state <> 'rejected') EXECUTE FUNCTION stamp_rejection();
CREATE TRIGGER start_tokens_stamp_rejection BEFORE UPDATE OF state ON start_tokens
    FOR EACH ROW WHEN (NEW.state = 'rejected' AND OLD.state <> 'rejected') EXECUTE FUNCTION stamp_rejection();

-- version: 1
-- compatible_from: 1
--
-- The tables of Tally, in five files by room. They are one baseline: the first version of the schema. Later migrations go
-- forward only.
--
-- Every time is the database's. States are enum types. CHECKs tie a state to the columns that it needs, so the database
-- refuses an impossible row.

-- Who and what: apps, keys, types, devices.

CREATE TYPE apns_environment AS ENUM ('sandbox', 'production');

CREATE TABLE apps (
    bundle_id          text PRIMARY KEY,
    team_id            text NOT NULL CHECK (length(team_id) = 10),
    channels_exclusive boolean NOT NULL DEFAULT false,
    channel_pool       integer NOT NULL DEFAULT 0 CHECK (channel_pool BETWEEN 0 AND 10000),
    created_at         timestamptz NOT NULL DEFAULT now(),
    updated_at         timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE apps IS
    'An app: a bundle id with its team. Deleting the row deletes everything that belongs to the app.';
COMMENT ON COLUMN apps.channels_exclusive IS
    'No other system makes channels for this app, so reconcile may delete unknown ones.';
COMMENT ON COLUMN apps.channel_pool IS 'Channels kept ready per environment.';

CREATE TABLE signing_keys (
    bundle_id          text NOT NULL REFERENCES apps ON DELETE CASCADE,
    environment        apns_environment NOT NULL,
    key_id             text NOT NULL CHECK (length(key_id) = 10),
    private_key_sealed bytea NOT NULL,
    updated_at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (bundle_id, environment)
);
COMMENT ON TABLE signing_keys IS
    'The .p8 key of an app for one environment.';
COMMENT ON COLUMN signing_keys.private_key_sealed IS
    'The .p8 PEM under AES-256-GCM: nonce, ciphertext, tag. Bundle id and environment are authenticated with it.';

CREATE TABLE provider_tokens (
    team_id      text NOT NULL CHECK (length(team_id) = 10),
    key_id       text NOT NULL CHECK (length(key_id) = 10),
    public_key   bytea NOT NULL,
    token_sealed bytea,
    issued_at    timestamptz,
    kept_until   timestamptz,
    PRIMARY KEY (team_id, key_id, public_key),
    CHECK ((token_sealed IS NULL) = (issued_at IS NULL))
);
COMMENT ON TABLE provider_tokens IS
    'One provider token per team and key, shared by all daemons: Apple refuses a new one within 20 minutes. A daemon locks the row while it signs.';
COMMENT ON COLUMN provider_tokens.public_key IS
    'SHA-256 of the key''s public half. A new key under an old id has its own tokens.';
COMMENT ON COLUMN provider_tokens.token_sealed IS
    'The token under AES-256-GCM: nonce, ciphertext, tag. Team and key are authenticated with it.';
COMMENT ON COLUMN provider_tokens.issued_at IS 'Its iat, a whole second of the database''s clock.';
COMMENT ON COLUMN provider_tokens.kept_until IS
    'No new token is made before, because Apple answered TooManyProviderTokenUpdates.';

CREATE TABLE api_keys (
    api_key_id    uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name          text NOT NULL CHECK (length(name) BETWEEN 1 AND 128),
    secret_sha256 bytea NOT NULL UNIQUE CHECK (length(secret_sha256) = 32),
    scopes        text[] NOT NULL CHECK (cardinality(scopes) > 0 AND scopes <@ ARRAY['admin', 'operate', 'publish', 'register', 'read']),
    bundle_id     text REFERENCES apps ON DELETE CASCADE,
    created_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz,
    revoked_at    timestamptz,
    last_used_at  timestamptz
);
COMMENT ON TABLE api_keys IS
    'Who may call the API. The secret itself is not stored.';
COMMENT ON COLUMN api_keys.bundle_id IS 'The only app that this key sees. Null: all apps.';

CREATE TABLE ticket_keys (
    ticket_key_id uuid PRIMARY KEY,
    bundle_id     text NOT NULL REFERENCES apps ON DELETE CASCADE,
    algorithm     text NOT NULL CHECK (algorithm IN ('ES256', 'HS256')),
    key_sealed    bytea NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    revoked_at    timestamptz
);
COMMENT ON TABLE ticket_keys IS
    'The keys that verify the tickets which an app''s backend signs.';
COMMENT ON COLUMN ticket_keys.ticket_key_id IS 'The kid of the tickets. A key with this id never changes.';
COMMENT ON COLUMN ticket_keys.key_sealed IS
    'The secret of HS256, or the PEM of the public key of ES256, under AES-256-GCM: nonce, ciphertext, tag. Bundle id and key id are authenticated with it.';
COMMENT ON COLUMN ticket_keys.revoked_at IS 'From then on its tickets are refused. It may lie in the future.';
CREATE INDEX ticket_keys_by_app ON ticket_keys (bundle_id, created_at, ticket_key_id);

CREATE TABLE ticket_revocations (
    bundle_id      text NOT NULL REFERENCES apps ON DELETE CASCADE,
    subject_sha256 bytea NOT NULL CHECK (length(subject_sha256) = 32),
    revoked_before timestamptz NOT NULL,
    PRIMARY KEY (bundle_id, subject_sha256)
);
COMMENT ON TABLE ticket_revocations IS
    'Users and devices whose signed tickets are refused if they were made before a time. A row is needed for as long as a ticket can live.';
COMMENT ON COLUMN ticket_revocations.subject_sha256 IS
    'Of "user/" or "device/" and the id, so that an erased user is named nowhere.';
CREATE INDEX ticket_revocations_in_order ON ticket_revocations (revoked_before);

CREATE TABLE activity_types (
    bundle_id  text NOT NULL REFERENCES apps ON DELETE CASCADE,
    type_name  text NOT NULL,
    policy     json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (bundle_id, type_name)
);
COMMENT ON TABLE activity_types IS
    'An ActivityAttributes struct of an app, by its Swift name, with its policy.';

CREATE TABLE type_versions (
    bundle_id            text NOT NULL,
    type_name            text NOT NULL,
    version              integer NOT NULL CHECK (version > 0),
    attributes_schema    json NOT NULL,
    content_state_schema json NOT NULL,
    min_app_version      text,
    created_at           timestamptz NOT NULL DEFAULT now(),
    retired_at           timestamptz,
    PRIMARY KEY (bundle_id, type_name, version),
    FOREIGN KEY (bundle_id, type_name) REFERENCES activity_types ON DELETE CASCADE
);
COMMENT ON TABLE type_versions IS
    'The versions of the two JSON Schemas of a type. A version never changes.';
COMMENT ON COLUMN type_versions.min_app_version IS 'The first app version that decodes this schema.';
COMMENT ON COLUMN type_versions.retired_at IS
    'Since then, phones that decode nothing newer are given up. Content that they cannot decode is withheld from them instead of refused.';

CREATE TABLE devices (
    device_key              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    bundle_id               text NOT NULL REFERENCES apps ON DELETE CASCADE,
    device_id               text NOT NULL,
    environment             apns_environment NOT NULL,
    user_id                 text,
    os_version              text,
    app_version             text,
    activities_enabled      boolean NOT NULL DEFAULT true,
    frequent_pushes_enabled boolean NOT NULL DEFAULT false,
    device_token            bytea,
    created_at              timestamptz NOT NULL DEFAULT now(),
    updated_at              timestamptz NOT NULL DEFAULT now(),
    installation            text,
    earlier_installations   text[] NOT NULL DEFAULT '{}',
    UNIQUE (bundle_id, device_id)
);
COMMENT ON TABLE devices IS
    'One installation of an app, by an id that the app chooses and keeps.';
COMMENT ON COLUMN devices.device_key IS 'A short key of the installation. It is the order of a ring.';
COMMENT ON COLUMN devices.installation IS
    'The app''s name of the installation in which generations count. Null until the app reports one.';
COMMENT ON COLUMN devices.earlier_installations IS
    'The last few replaced installations, the newest first. Their late reports are stale (promise 7).';
CREATE INDEX devices_by_user ON devices (bundle_id, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX devices_in_order ON devices (bundle_id, environment, device_key);
CREATE INDEX devices_by_app_version ON devices (bundle_id, environment, app_version, device_key);
-- By the first digits of a token, as answers show them. Equal keys share their entry, so these indexes stay small.
CREATE INDEX devices_by_token_prefix ON devices (bundle_id, substring(device_token FROM 1 FOR 2)) WHERE device_token IS NOT NULL;

CREATE TYPE token_state AS ENUM ('live', 'dead', 'rejected');

CREATE TABLE start_tokens (
    device_key     bigint NOT NULL REFERENCES devices ON DELETE CASCADE,
    type_name      text NOT NULL,
    token          bytea NOT NULL CHECK (length(token) BETWEEN 1 AND 256),
    generation     bigint NOT NULL DEFAULT 0,
    state          token_state NOT NULL DEFAULT 'live',
    registered_at  timestamptz NOT NULL DEFAULT now(),
    rejected_at    timestamptz,
    contradictions smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (device_key, type_name)
);
COMMENT ON TABLE start_tokens IS
    'The push-to-start token of a device for one type.';
COMMENT ON COLUMN start_tokens.generation IS
    'Grows with each new token of the installation. A report with a lower one is stale.';
COMMENT ON COLUMN start_tokens.registered_at IS
    'When the app last reported this token. It is compared with the time in a 410.';
COMMENT ON COLUMN start_tokens.rejected_at IS 'When the token last became rejected.';
COMMENT ON COLUMN start_tokens.contradictions IS 'As subscriptions.contradictions.';
CREATE INDEX start_tokens_rejected ON start_tokens (rejected_at) WHERE state = 'rejected';
CREATE INDEX start_tokens_by_token ON start_tokens USING hash (token);
CREATE INDEX start_tokens_by_token_prefix ON start_tokens (substring(token FROM 1 FOR 2));

-- Each statement that rejects a token also stores the time.
CREATE FUNCTION stamp_rejection() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.rejected_at := clock_timestamp();
    RETURN NEW;
END
$$;
CREATE TRIGGER start_tokens_stamp_rejection BEFORE UPDATE OF state ON start_tokens
    FOR EACH ROW WHEN (NEW.state = 'rejected' AND OLD.state <> 'rejected') EXECUTE FUNCTION stamp_rejection();

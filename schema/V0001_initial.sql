-- version: 1
-- compatible_from: 1
--
-- Every time in these tables is the database's. States are enum types, and CHECKs tie a state to the columns
-- that it needs, so that an impossible row is refused here whatever the program does.

CREATE TYPE apns_environment AS ENUM ('sandbox', 'production');

-- Apps, their signing keys, and who may call the API -----------------------------------------------------------

CREATE TABLE apps (
    bundle_id          text PRIMARY KEY,
    team_id            text NOT NULL CHECK (length(team_id) = 10),
    channels_exclusive boolean NOT NULL DEFAULT false,
    channel_pool       integer NOT NULL DEFAULT 0 CHECK (channel_pool BETWEEN 0 AND 10000),
    created_at         timestamptz NOT NULL DEFAULT now(),
    updated_at         timestamptz NOT NULL DEFAULT now()
);
COMMENT ON COLUMN apps.channels_exclusive IS 'No other system makes channels for this app: reconcile may delete unknown ones.';
COMMENT ON COLUMN apps.channel_pool IS 'Channels kept ready per environment.';

CREATE TABLE signing_keys (
    bundle_id          text NOT NULL REFERENCES apps ON DELETE CASCADE,
    environment        apns_environment NOT NULL,
    key_id             text NOT NULL CHECK (length(key_id) = 10),
    private_key_sealed bytea NOT NULL,
    updated_at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (bundle_id, environment)
);
COMMENT ON COLUMN signing_keys.private_key_sealed IS 'The .p8 PEM under AES-256-GCM: nonce, ciphertext, tag; bundle id and environment are authenticated with it.';

CREATE TABLE api_keys (
    api_key_id    uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    name          text NOT NULL CHECK (length(name) BETWEEN 1 AND 128),
    secret_sha256 bytea NOT NULL UNIQUE CHECK (length(secret_sha256) = 32),
    scopes        text[] NOT NULL CHECK (
        cardinality(scopes) > 0 AND scopes <@ ARRAY['admin', 'operate', 'publish', 'register', 'read']
    ),
    bundle_id     text REFERENCES apps ON DELETE CASCADE,
    created_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz,
    revoked_at    timestamptz,
    last_used_at  timestamptz
);
COMMENT ON COLUMN api_keys.bundle_id IS 'The only app that this key sees; null: all apps.';

-- Activity types and the versions of their two schemas ---------------------------------------------------------

CREATE TABLE activity_types (
    bundle_id  text NOT NULL REFERENCES apps ON DELETE CASCADE,
    type_name  text NOT NULL,
    policy     json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (bundle_id, type_name)
);

CREATE TABLE type_versions (
    bundle_id            text NOT NULL,
    type_name            text NOT NULL,
    version              integer NOT NULL CHECK (version > 0),
    attributes_schema    json NOT NULL,
    content_state_schema json NOT NULL,
    min_app_version      text,
    created_at           timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (bundle_id, type_name, version),
    FOREIGN KEY (bundle_id, type_name) REFERENCES activity_types ON DELETE CASCADE
);

-- Devices and their start tokens -------------------------------------------------------------------------------

CREATE TYPE token_state AS ENUM ('live', 'dead', 'rejected');

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
    UNIQUE (bundle_id, device_id)
);
COMMENT ON COLUMN devices.device_key IS 'Short key of one installation; the order of a ring.';
CREATE INDEX devices_by_user ON devices (bundle_id, user_id) WHERE user_id IS NOT NULL;

CREATE TABLE start_tokens (
    device_key    bigint NOT NULL REFERENCES devices ON DELETE CASCADE,
    type_name     text NOT NULL,
    token         bytea NOT NULL CHECK (length(token) BETWEEN 1 AND 256),
    generation    bigint NOT NULL DEFAULT 0,
    state         token_state NOT NULL DEFAULT 'live',
    registered_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (device_key, type_name)
);
COMMENT ON COLUMN start_tokens.registered_at IS 'When the app last reported this token; compared with the time in a 410.';

-- Activities and their changes ---------------------------------------------------------------------------------

CREATE TYPE activity_state AS ENUM ('scheduled', 'live', 'ended');
CREATE TYPE delivery_mode AS ENUM ('tokens', 'channel', 'hybrid');
CREATE TYPE change_kind AS ENUM ('start', 'update', 'end');
CREATE TYPE urgency AS ENUM ('routine', 'notable', 'critical');

CREATE TABLE activities (
    activity_key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    bundle_id    text NOT NULL REFERENCES apps ON DELETE CASCADE,
    activity_id  text NOT NULL,
    environment  apns_environment NOT NULL,
    type_name    text NOT NULL,
    delivery     delivery_mode NOT NULL,
    state        activity_state NOT NULL,
    attributes   json NOT NULL,
    start_body   json NOT NULL,
    audience_all boolean NOT NULL DEFAULT false,
    enrolment_due boolean NOT NULL DEFAULT false,
    revision     bigint NOT NULL DEFAULT 1 CHECK (revision > 0),
    stamp        bigint NOT NULL DEFAULT 0,
    fresh_stamp  bigint NOT NULL DEFAULT 0,
    event_time   timestamptz,
    starts_at    timestamptz,
    ends_at      timestamptz,
    started_at   timestamptz,
    ended_at     timestamptz,
    created_at   timestamptz NOT NULL DEFAULT now(),
    UNIQUE (bundle_id, activity_id),
    FOREIGN KEY (bundle_id, type_name) REFERENCES activity_types,
    CHECK (state <> 'scheduled' OR started_at IS NULL),
    CHECK (state <> 'live' OR started_at IS NOT NULL),
    CHECK ((state = 'ended') = (ended_at IS NOT NULL))
);
COMMENT ON COLUMN activities.start_body IS 'The accepted start as the caller sent it: a replay is judged against it.';
COMMENT ON COLUMN activities.enrolment_due IS 'The audience has changed: a worker turns it into starts, after the commit, so that a device that registers at the same moment is seen by one or the other.';
COMMENT ON COLUMN activities.revision IS 'The newest accepted change.';
COMMENT ON COLUMN activities.stamp IS 'The highest timestamp ever given to a push of this activity; it only grows (promise 3).';
COMMENT ON COLUMN activities.fresh_stamp IS 'The highest timestamp given when sending instead of at accept; a change stamped below it is stamped anew before it leaves.';
CREATE INDEX activities_by_type ON activities (bundle_id, type_name, activity_key);
CREATE INDEX activities_open_to_all ON activities (bundle_id, type_name) WHERE audience_all AND state = 'live';

CREATE TABLE changes (
    activity_key         bigint NOT NULL REFERENCES activities ON DELETE CASCADE,
    revision             bigint NOT NULL,
    kind                 change_kind NOT NULL,
    content_state        json NOT NULL,
    alert                json,
    urgency              urgency NOT NULL,
    must_deliver         boolean NOT NULL DEFAULT false,
    stale_after_seconds  integer CHECK (stale_after_seconds >= 0),
    relevance_score      double precision,
    dismiss_after_seconds integer CHECK (dismiss_after_seconds >= 0),
    dismiss_at           timestamptz,
    event_time           timestamptz,
    timestamp            bigint,
    stamped_at           timestamptz,
    accepted_at          timestamptz NOT NULL,
    merged_into          bigint,
    PRIMARY KEY (activity_key, revision),
    CHECK ((timestamp IS NULL) = (stamped_at IS NULL)),
    CHECK (merged_into > revision)
);
COMMENT ON COLUMN changes.content_state IS 'The state shown from this change on; an end without one repeats the newest.';
COMMENT ON COLUMN changes.timestamp IS 'The aps timestamp of its pushes, UNIX seconds; null until stamped.';
COMMENT ON COLUMN changes.merged_into IS 'The newer revision that replaced this one before any push of it left.';
CREATE INDEX changes_must_deliver ON changes (activity_key, revision) WHERE must_deliver;

CREATE TABLE audience_members (
    activity_key bigint NOT NULL REFERENCES activities ON DELETE CASCADE,
    kind         text NOT NULL CHECK (kind IN ('user', 'device')),
    member_id    text NOT NULL,
    bundle_id    text NOT NULL,
    PRIMARY KEY (activity_key, kind, member_id)
);
COMMENT ON TABLE audience_members IS 'A standing rule until the end: a matching device that registers later is started, too.';
CREATE INDEX audience_members_by_member ON audience_members (bundle_id, kind, member_id);

-- Destinations -------------------------------------------------------------------------------------------------

CREATE TYPE start_state AS ENUM ('pending', 'claimed', 'unknown', 'sent', 'settled', 'withheld', 'failed', 'cancelled');

CREATE TABLE starts (
    activity_key bigint NOT NULL REFERENCES activities ON DELETE CASCADE,
    device_key   bigint NOT NULL REFERENCES devices ON DELETE CASCADE,
    state        start_state NOT NULL,
    attempts     smallint NOT NULL DEFAULT 0,
    failures     smallint NOT NULL DEFAULT 0,
    revision     bigint,
    due_at       timestamptz,
    claimed_at   timestamptz,
    renewed      boolean NOT NULL DEFAULT false,
    reason       text,
    PRIMARY KEY (activity_key, device_key),
    CHECK ((state IN ('pending', 'claimed')) <= (due_at IS NOT NULL)),
    CHECK (state <> 'claimed' OR claimed_at IS NOT NULL)
);
COMMENT ON TABLE starts IS 'One start per device and activity, claimed here before it leaves (promise 6).';
COMMENT ON COLUMN starts.attempts IS 'Claims whose push may have left; 2 means that the start was repeated.';
COMMENT ON COLUMN starts.failures IS 'Attempts in a row that certainly did not start anything; sets the back-off.';
COMMENT ON COLUMN starts.renewed IS 'The device was registered again while its start was claimed: one that comes to nothing is tried anew.';
COMMENT ON COLUMN starts.due_at IS 'Pending: when to send. Claimed or unknown: when to repeat unless the phone has reported.';
CREATE INDEX starts_due ON starts (activity_key, due_at, device_key) WHERE state IN ('pending', 'claimed', 'unknown') AND due_at IS NOT NULL;
CREATE INDEX starts_by_device ON starts (device_key);

CREATE TYPE subscription_mode AS ENUM ('token', 'channel');
CREATE TYPE subscription_state AS ENUM ('waiting_for_token', 'riding', 'due', 'withheld', 'rejected', 'dead', 'over');

CREATE TABLE subscriptions (
    activity_key   bigint NOT NULL REFERENCES activities ON DELETE CASCADE,
    device_key     bigint NOT NULL REFERENCES devices ON DELETE CASCADE,
    mode           subscription_mode NOT NULL,
    state          subscription_state NOT NULL,
    frequent       boolean NOT NULL DEFAULT false,
    update_token   bytea CHECK (length(update_token) BETWEEN 1 AND 256),
    generation     bigint NOT NULL DEFAULT 0,
    known_revision bigint NOT NULL DEFAULT 0,
    heard_revision bigint NOT NULL DEFAULT 0,
    due_at         timestamptz,
    failures       smallint NOT NULL DEFAULT 0,
    activitykit_id text,
    leaving        boolean NOT NULL DEFAULT false,
    reason         text,
    registered_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (activity_key, device_key),
    CHECK (mode = 'channel' OR state = 'waiting_for_token' OR update_token IS NOT NULL OR state = 'over'),
    CHECK ((state = 'due') = (due_at IS NOT NULL)),
    CHECK (mode = 'token' OR state IN ('riding', 'due', 'over'))
);
COMMENT ON COLUMN subscriptions.state IS
    'riding: served by the ring (or the channel); due: served by this row alone, at due_at (catch-up or retry); the others are not sent to.';
COMMENT ON COLUMN subscriptions.frequent IS 'Budget class: the device allows frequent pushes.';
COMMENT ON COLUMN subscriptions.leaving IS 'The card is to be ended on the phone; the row goes when that has been sent.';
COMMENT ON COLUMN subscriptions.known_revision IS 'A revision that this card certainly has; the ring does not write it.';
COMMENT ON COLUMN subscriptions.heard_revision IS
    'While due: alerts and must_deliver changes up to this revision are not owed to this card (promise 4).';
COMMENT ON COLUMN subscriptions.registered_at IS 'When the app last reported this token; compared with the time in a 410.';
CREATE INDEX subscriptions_ring ON subscriptions (activity_key, device_key) WHERE mode = 'token' AND state = 'riding';
CREATE INDEX subscriptions_due ON subscriptions (activity_key, mode, due_at) WHERE state = 'due';
CREATE INDEX subscriptions_by_device ON subscriptions (device_key);

CREATE TABLE segments (
    activity_key       bigint NOT NULL REFERENCES activities ON DELETE CASCADE,
    segment            smallint NOT NULL CHECK (segment >= -1),
    due_at             timestamptz,
    wakes              bigint NOT NULL DEFAULT 0,
    lease_owner        uuid,
    lease_until        timestamptz,
    completed_revision bigint NOT NULL DEFAULT 0,
    lap_revision       bigint,
    lap_origin         bigint,
    alert_revision     bigint,
    alert_origin       bigint,
    cursor             bigint NOT NULL DEFAULT 0,
    failures           smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (activity_key, segment),
    CHECK ((lap_revision IS NULL) = (lap_origin IS NULL)),
    CHECK ((alert_revision IS NULL) = (alert_origin IS NULL)),
    CHECK ((lease_owner IS NULL) = (lease_until IS NULL))
);
COMMENT ON TABLE segments IS 'The carousel: one ring of update tokens per row; segment -1 is the activity''s channel.';
COMMENT ON COLUMN segments.wakes IS 'Counts what gave the segment work; a worker only goes to rest if it has not moved meanwhile.';
COMMENT ON COLUMN segments.completed_revision IS 'Every riding destination has been sent this revision or a newer one.';
COMMENT ON COLUMN segments.cursor IS 'Device key of the last destination of the last acknowledged batch.';
COMMENT ON COLUMN segments.lap_origin IS 'Where the cursor stood when lap_revision was first sent; the lap is over when the walk is back there.';
CREATE INDEX segments_due ON segments (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE wake_ups (
    wake_up_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    activity_key bigint NOT NULL
);
COMMENT ON TABLE wake_ups IS
    'Registrations leave a row here instead of touching the one row of their segment, for which thousands would queue; a dispatcher takes them all at once.';

CREATE TYPE budget_class AS ENUM ('ordinary', 'frequent', 'channel');

CREATE TABLE budget_ledger (
    activity_key bigint NOT NULL REFERENCES activities ON DELETE CASCADE,
    class        budget_class NOT NULL,
    revision     bigint NOT NULL,
    priority     smallint NOT NULL CHECK (priority IN (5, 10)),
    reason       text NOT NULL,
    decided_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (activity_key, class, revision)
);
COMMENT ON TABLE budget_ledger IS 'Priority given to each revision per class, and why; rows of priority 10 are what was spent (promise 10).';

-- Channels -----------------------------------------------------------------------------------------------------

CREATE TYPE channel_storage AS ENUM ('none', 'most_recent');
CREATE TYPE channel_state AS ENUM ('creating', 'ready', 'deleting', 'deleted');

CREATE TABLE channels (
    channel_id      uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    bundle_id       text NOT NULL REFERENCES apps ON DELETE CASCADE,
    environment     apns_environment NOT NULL,
    storage         channel_storage NOT NULL,
    state           channel_state NOT NULL DEFAULT 'creating',
    apns_channel_id text,
    activity_key    bigint UNIQUE REFERENCES activities,
    created_at      timestamptz NOT NULL DEFAULT now(),
    delete_at       timestamptz,
    deleted_at      timestamptz,
    failures        smallint NOT NULL DEFAULT 0,
    reason          text,
    UNIQUE (bundle_id, environment, apns_channel_id),
    CHECK (state = 'creating' OR apns_channel_id IS NOT NULL),
    CHECK ((state = 'deleted') = (deleted_at IS NOT NULL))
);
COMMENT ON COLUMN channels.activity_key IS 'The one activity that this channel serves in its whole life.';
COMMENT ON COLUMN channels.delete_at IS 'When the grace time after the end is over, or when a failed deletion is tried again.';
CREATE INDEX channels_delete_due ON channels (delete_at) WHERE delete_at IS NOT NULL AND state IN ('ready', 'deleting');
CREATE INDEX channels_by_app ON channels (bundle_id, environment, channel_id);

-- Schedules and idempotency ------------------------------------------------------------------------------------

CREATE TYPE schedule_kind AS ENUM ('start', 'update', 'end');
CREATE TYPE schedule_state AS ENUM ('pending', 'done', 'cancelled', 'failed');

CREATE TABLE schedules (
    schedule_id  uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    activity_key bigint NOT NULL REFERENCES activities ON DELETE CASCADE,
    kind         schedule_kind NOT NULL,
    due_at       timestamptz NOT NULL,
    body         json NOT NULL,
    state        schedule_state NOT NULL DEFAULT 'pending',
    lease_until  timestamptz,
    reason       text,
    created_at   timestamptz NOT NULL DEFAULT now(),
    settled_at   timestamptz,
    CHECK ((state = 'pending') = (settled_at IS NULL))
);
COMMENT ON COLUMN schedules.body IS 'The request to run when due; it is validated again then.';
CREATE INDEX schedules_due ON schedules (due_at) WHERE state = 'pending';
CREATE INDEX schedules_by_activity ON schedules (activity_key, due_at);

CREATE TABLE idempotency_keys (
    api_key_id  text NOT NULL,
    method      text NOT NULL,
    path        text NOT NULL,
    key         text NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
    body_sha256 bytea NOT NULL,
    status      smallint NOT NULL,
    answer      json NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (api_key_id, method, path, key)
);
COMMENT ON TABLE idempotency_keys IS 'Answers of POSTs by their Idempotency-Key, committed with the change; kept for 24 h.';
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

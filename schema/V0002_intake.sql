-- version: 1
-- compatible_from: 1

-- What was accepted: activities, the log of their changes, audiences, schedules.

CREATE TYPE delivery_mode AS ENUM ('tokens', 'channel', 'hybrid');
CREATE TYPE activity_state AS ENUM ('scheduled', 'live', 'ended');

CREATE TABLE activities (
    activity_key     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    bundle_id        text NOT NULL REFERENCES apps ON DELETE CASCADE,
    activity_id      text NOT NULL,
    environment      apns_environment NOT NULL,
    type_name        text NOT NULL,
    delivery         delivery_mode NOT NULL,
    state            activity_state NOT NULL,
    attributes       json NOT NULL,
    start_body       json NOT NULL,
    audience_all     boolean NOT NULL DEFAULT false,
    enrolment_due    boolean NOT NULL DEFAULT false,
    revision         bigint NOT NULL DEFAULT 1 CHECK (revision > 0),
    stamp            bigint NOT NULL DEFAULT 0,
    fresh_stamp      bigint NOT NULL DEFAULT 0,
    event_time       timestamptz,
    starts_at        timestamptz,
    ends_at          timestamptz,
    started_at       timestamptz,
    ended_at         timestamptz,
    created_at       timestamptz NOT NULL DEFAULT now(),
    enrolled_members bigint NOT NULL DEFAULT 0,
    enrolled_devices bigint NOT NULL DEFAULT 0,
    start_alert      json,
    UNIQUE (bundle_id, activity_id),
    FOREIGN KEY (bundle_id, type_name) REFERENCES activity_types,
    CHECK (state <> 'scheduled' OR started_at IS NULL),
    CHECK (state <> 'live' OR started_at IS NOT NULL),
    CHECK ((state = 'ended') = (ended_at IS NOT NULL))
) WITH (fillfactor = 60);
COMMENT ON TABLE activities IS
    'One real thing, such as a match or an order. An update changes the row in place, so its pages stay half empty.';
COMMENT ON COLUMN activities.start_body IS 'The accepted start as the caller sent it. A replay is compared with it.';
COMMENT ON COLUMN activities.enrolment_due IS
    'The audience has changed. A worker turns it into starts after the commit, some at a time. So either the worker or the registration sees a device that registers at that moment.';
COMMENT ON COLUMN activities.revision IS 'The newest accepted change.';
COMMENT ON COLUMN activities.stamp IS 'The highest timestamp of any push of this activity. It only grows (promise 3).';
COMMENT ON COLUMN activities.fresh_stamp IS
    'The highest timestamp given when sending instead of at accept. A change with a lower one may need a new one before it leaves.';
COMMENT ON COLUMN activities.event_time IS 'The newest event_time of an accepted update. An older one is refused.';
COMMENT ON COLUMN activities.enrolled_members IS 'Members up to this key have been turned into starts.';
COMMENT ON COLUMN activities.enrolled_devices IS
    'If the audience is all devices: those up to this key have been turned into starts. Adding all devices again sets a new number of at most 0, which tells a running worker to begin again.';
COMMENT ON COLUMN activities.start_alert IS
    'The alert that came with a later audience. Starts that leave from then on carry it. Null: they carry the alert of change 1.';
CREATE INDEX activities_open_to_all ON activities (bundle_id, type_name) WHERE audience_all AND state = 'live';
CREATE INDEX activities_by_end ON activities (ended_at, activity_key) WHERE ended_at IS NOT NULL;
-- The type comes first. The planner took an index that begins with the app for look-ups by id, and read all activities.
CREATE INDEX activities_by_type ON activities (type_name, bundle_id, activity_key);

CREATE TYPE change_kind AS ENUM ('start', 'update', 'end');
CREATE TYPE urgency AS ENUM ('routine', 'notable', 'critical');
-- Changes are events, too: both tables take their ids here.
CREATE SEQUENCE events_event_id_seq;

CREATE TABLE changes (
    activity_key          bigint NOT NULL,
    revision              bigint NOT NULL,
    kind                  change_kind NOT NULL,
    content_state         json NOT NULL,
    alert                 json,
    urgency               urgency NOT NULL,
    must_deliver          boolean NOT NULL DEFAULT false,
    stale_after_seconds   integer CHECK (stale_after_seconds >= 0),
    relevance_score       double precision,
    dismiss_after_seconds integer CHECK (dismiss_after_seconds >= 0),
    dismiss_at            timestamptz,
    event_time            timestamptz,
    timestamp             bigint,
    stamped_at            timestamptz,
    accepted_at           timestamptz NOT NULL,
    merged_into           bigint,
    min_interval_seconds  integer CHECK (min_interval_seconds >= 0),
    transaction_id        xid8 NOT NULL DEFAULT pg_current_xact_id(),
    event_id              bigint NOT NULL DEFAULT nextval('events_event_id_seq'),
    is_sent               boolean NOT NULL DEFAULT false,
    request_id            text,
    traceparent           text,
    PRIMARY KEY (activity_key, revision),
    CHECK ((timestamp IS NULL) = (stamped_at IS NULL)),
    CHECK (merged_into > revision)
);
COMMENT ON TABLE changes IS
    'The log: each accepted start, update and end of an activity. It is also the event of that change.';
COMMENT ON COLUMN changes.activity_key IS
    'Of activities. Not a foreign key: the inserting transaction locks that row, and a trigger deletes the changes with it.';
COMMENT ON COLUMN changes.content_state IS
    'The state shown from this change on. An end without one repeats the newest.';
COMMENT ON COLUMN changes.must_deliver IS
    'A barrier: every destination gets a push for it before later changes (promise 4).';
COMMENT ON COLUMN changes.timestamp IS 'The aps timestamp of its pushes in UNIX seconds. Null until it has one.';
COMMENT ON COLUMN changes.merged_into IS
    'The revision that was sent instead, if APNs had accepted no update with this one.';
COMMENT ON COLUMN changes.min_interval_seconds IS
    'A routine change waits until so much time has passed since the last push. Null: it does not wait.';
COMMENT ON COLUMN changes.transaction_id IS 'Readers of events merge changes and events by (transaction_id, event_id).';
COMMENT ON COLUMN changes.is_sent IS
    'APNs has accepted an update with it, or may have, so it is not merged. Small rings do not set it.';
COMMENT ON COLUMN changes.request_id IS
    'The X-Request-Id of the request, or the schedule. Null for Tally''s own changes.';
COMMENT ON COLUMN changes.traceparent IS 'The W3C trace context of the request.';
CREATE INDEX changes_must_deliver ON changes (activity_key, revision) WHERE must_deliver;
CREATE INDEX changes_in_order ON changes (transaction_id, event_id);

CREATE FUNCTION delete_changes_of_activities() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM changes AS c USING gone WHERE c.activity_key = gone.activity_key;
    RETURN NULL;
END
$$;
CREATE TRIGGER activities_delete_changes AFTER DELETE ON activities REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION delete_changes_of_activities();

CREATE TABLE audience_members (
    activity_key bigint NOT NULL REFERENCES activities ON DELETE CASCADE,
    kind         text NOT NULL CHECK (kind IN ('user', 'device')),
    member_id    text NOT NULL,
    bundle_id    text NOT NULL,
    member_key   bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (activity_key, kind, member_id)
);
COMMENT ON TABLE audience_members IS
    'The users and devices of an audience. The rule stands until the end: a matching device that registers later is started, too.';
COMMENT ON COLUMN audience_members.member_key IS
    'The order in which members were named. Naming locks the activity, so a greater key is seen later.';
CREATE INDEX audience_members_by_member ON audience_members (bundle_id, kind, member_id);
CREATE INDEX audience_members_in_order ON audience_members (activity_key, member_key);

CREATE TABLE activity_app_versions (
    activity_key  bigint NOT NULL REFERENCES activities ON DELETE CASCADE,
    app_version   text NOT NULL,
    is_withheld   boolean NOT NULL,
    decodes_from  bigint NOT NULL CHECK (decodes_from > 0),
    is_settled    boolean NOT NULL DEFAULT true,
    settled_rings smallint[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (activity_key, app_version)
);
COMMENT ON TABLE activity_app_versions IS
    'Which app versions of its followers decode the newest state of an activity. A worker that gives a card to a ring locks the row, so no phone is sent a state that it cannot decode.';
COMMENT ON COLUMN activity_app_versions.app_version IS 'As the devices report it. Empty for devices that report none.';
COMMENT ON COLUMN activity_app_versions.is_withheld IS
    'Apps of this version cannot decode the newest state, so they do not get it. If false, every new state must be one that they decode.';
COMMENT ON COLUMN activity_app_versions.decodes_from IS 'If not withheld: they decode every revision from this one on.';
COMMENT ON COLUMN activity_app_versions.is_settled IS
    'The rows of the cards say the same. If false, a worker changes them before it sends.';
COMMENT ON COLUMN activity_app_versions.settled_rings IS
    'While not settled: the rings whose cards say the same already.';
CREATE INDEX activity_app_versions_unsettled ON activity_app_versions (activity_key) WHERE NOT is_settled;

CREATE TYPE schedule_kind AS ENUM ('start', 'update', 'end');
CREATE TYPE schedule_state AS ENUM ('pending', 'done', 'cancelled', 'failed');

CREATE TABLE schedules (
    schedule_id     uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    activity_key    bigint NOT NULL REFERENCES activities ON DELETE CASCADE,
    kind            schedule_kind NOT NULL,
    due_at          timestamptz NOT NULL,
    body            json NOT NULL,
    state           schedule_state NOT NULL DEFAULT 'pending',
    lease_until     timestamptz,
    reason          text,
    created_at      timestamptz NOT NULL DEFAULT now(),
    settled_at      timestamptz,
    silence_seconds integer CHECK (silence_seconds > 0),
    request_id      text,
    traceparent     text,
    bundle_id       text NOT NULL,
    CHECK ((state = 'pending') = (settled_at IS NULL))
);
COMMENT ON TABLE schedules IS
    'Requests that Tally makes later by itself.';
COMMENT ON COLUMN schedules.body IS 'The request. It is validated again when it is due.';
COMMENT ON COLUMN schedules.silence_seconds IS
    'An end that runs only if the newest change is that old. Otherwise due_at moves. Changes do not touch this row.';
COMMENT ON COLUMN schedules.request_id IS 'The origin of the change that it will make.';
COMMENT ON COLUMN schedules.bundle_id IS
    'The app of the activity, so that a list for an app reads one page of an index.';
CREATE INDEX schedules_due ON schedules (due_at) WHERE state = 'pending';
CREATE INDEX schedules_by_activity ON schedules (activity_key, due_at);
CREATE INDEX schedules_by_app ON schedules (bundle_id, due_at, schedule_id);

CREATE TABLE idempotency_keys (
    scope       bytea PRIMARY KEY CHECK (length(scope) = 32),
    body_sha256 bytea NOT NULL,
    status      smallint NOT NULL,
    answer      json NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    uncounted   bigint
);
COMMENT ON TABLE idempotency_keys IS
    'Answers to POST requests with an Idempotency-Key, committed with the change and kept for 24 hours.';
COMMENT ON COLUMN idempotency_keys.scope IS
    'SHA-256 of the API key''s id, the method, the path and the key, with line feeds between them.';
COMMENT ON COLUMN idempotency_keys.uncounted IS
    'The activity whose audience the answer must still tell. It is counted after the commit. Null: the answer is complete.';
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

-- version: 9
-- compatible_from: 1

-- The timeline: what left for whom, and what APNs said ------------------------------------------------------------

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
    'One partition per day (UTC), made ahead and dropped by age by the daemon; never holds tokens or payloads. It explains and decides nothing: rows are written after the fact, and may be missing.';
COMMENT ON COLUMN timeline.entry_id IS 'Order within one moment.';
COMMENT ON COLUMN timeline.activity_key IS 'Keys without a foreign key: the rows of a deleted activity are found by nobody and go by age; those of a deleted device are deleted with it.';
COMMENT ON COLUMN timeline.device_key IS 'Whom the row is about; null for a batch, a broadcast, and what concerns the activity.';
COMMENT ON COLUMN timeline.event IS 'What was sent or asked for: start, update, end; alert and wake are ordinary pushes.';
COMMENT ON COLUMN timeline.first_device IS 'A batch of the ring went to all that rode from this device key to last_device; null for any other batch.';
COMMENT ON COLUMN timeline.counts IS 'How many of a batch were answered how: {"200": 993, "410 Unregistered": 7}; or how many rows were lost.';
CREATE INDEX timeline_by_activity ON timeline (activity_key, at, entry_id);
CREATE INDEX timeline_by_device ON timeline (device_key, activity_key, at) WHERE device_key IS NOT NULL;

CREATE TABLE timeline_default PARTITION OF timeline DEFAULT;
COMMENT ON TABLE timeline_default IS 'Takes what has no partition yet, as after a long rest; moved to its own when that is made.';

-- The timeline of an activity tells its events, too.
CREATE INDEX events_by_activity ON events (bundle_id, activity_id, at) WHERE activity_id IS NOT NULL;

-- version: 16
-- compatible_from: 16

-- Several rings of one activity, so that several daemons can carry it (promise 12) --------------------------------

ALTER TABLE segments
    ADD COLUMN after_key    bigint NOT NULL DEFAULT 0,
    ADD COLUMN through_key  bigint NOT NULL DEFAULT 9223372036854775807,
    ADD COLUMN lease_daemon uuid,
    ADD CHECK (after_key >= 0 AND after_key < through_key);
COMMENT ON TABLE segments IS
    'The carousel: a row per ring of update tokens, which together hold every device key once; segment -1 is the activity''s channel.';
COMMENT ON COLUMN segments.after_key IS 'The ring holds the devices with greater keys. Ring 0 begins at 0, and has the starts.';
COMMENT ON COLUMN segments.through_key IS 'The greatest device key of the ring. It falls when the ring is divided, under its lease and the activity''s lock.';
COMMENT ON COLUMN segments.lease_daemon IS 'Whose lease it is, while it lasts: daemons leave half of the rings of an activity to each other.';
CREATE INDEX segments_further_due ON segments (due_at) WHERE segment > 0 AND due_at IS NOT NULL;

ALTER TABLE changes ADD COLUMN is_sent boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN changes.is_sent IS 'Some ring has stored pushes of it: so it is not merged by another that jumps over it.';
COMMENT ON COLUMN activities.fresh_stamp IS
    'The highest timestamp given when sending instead of at accept; a change stamped below it may have to be stamped anew before it leaves, if an older change was stamped above it.';

ALTER TABLE wake_ups ADD COLUMN device_key bigint;
COMMENT ON COLUMN wake_ups.device_key IS 'Whose card it is about; null: about several. Only its ring has work then, and the channel.';

ALTER TABLE activity_app_versions ADD COLUMN settled_rings smallint[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN activity_app_versions.settled_rings IS 'While not settled: the rings whose cards say the same already.';

-- version: 23
-- compatible_from: 19

-- Audiences of any size become starts a stretch at a time -------------------------------------------------------------

CREATE INDEX devices_in_order ON devices (bundle_id, environment, device_key);

ALTER TABLE audience_members ADD COLUMN member_key bigint GENERATED ALWAYS AS IDENTITY;
COMMENT ON COLUMN audience_members.member_key IS
    'The order in which members were named: whoever names members of an activity holds its row, so a greater key is seen later.';
CREATE INDEX audience_members_in_order ON audience_members (activity_key, member_key);

-- Last, because changes wait from here on.
ALTER TABLE activities
    ADD COLUMN enrolled_members bigint NOT NULL DEFAULT 0,
    ADD COLUMN enrolled_devices bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN activities.enrolment_due IS
    'The audience has changed: a worker turns it into starts, stretch by stretch, after the commit, so that a device that registers at the same moment is seen by one or the other.';
COMMENT ON COLUMN activities.enrolled_members IS 'The members up to this key have been turned into starts.';
COMMENT ON COLUMN activities.enrolled_devices IS
    'Where the audience is all: the devices up to this key have been turned into starts. Whenever all are added it is a new number of at most 0, by which a worker that is at a stretch sees that it has to begin anew.';

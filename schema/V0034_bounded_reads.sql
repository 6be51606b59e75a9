-- version: 34
-- compatible_from: 34

-- Reads that do not grow with an audience or with other apps ----------------------------------------------------------

ALTER TABLE schedules ADD COLUMN bundle_id text;
UPDATE schedules AS s SET bundle_id = a.bundle_id FROM activities AS a WHERE a.activity_key = s.activity_key;
ALTER TABLE schedules ALTER COLUMN bundle_id SET NOT NULL;
COMMENT ON COLUMN schedules.bundle_id IS 'The app of the activity, so that the list of an app reads one page of an index.';
CREATE INDEX schedules_by_app ON schedules (bundle_id, due_at, schedule_id);

-- Pages of the devices with one app version are read in the order of their keys.
DROP INDEX devices_by_app_version;
CREATE INDEX devices_by_app_version ON devices (bundle_id, environment, app_version, device_key);

-- version: 9
-- compatible_from: 6

-- An update that changes nothing is a sign of life, too. A program of version 8 does not know the column. While it runs beside newer
-- ones, it may end an activity to which nothing else was posted.

ALTER TABLE schedules ADD COLUMN heard_at timestamptz;
COMMENT ON COLUMN schedules.heard_at IS
    'With silence_seconds: when an update last brought the state that the activity had already. It is written at most once in a tenth of that time. Null: none has come.';

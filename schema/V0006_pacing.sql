-- version: 6
-- compatible_from: 1

-- Pace: what is held back, what was demoted, and when silence ends an activity -----------------------------------

ALTER TABLE changes ADD COLUMN min_interval_seconds integer CHECK (min_interval_seconds >= 0);
COMMENT ON COLUMN changes.min_interval_seconds IS
    'A routine change that waits until so much time has passed since the last push; null: it waits for nothing.';

ALTER TABLE segments ADD COLUMN pushed_at timestamptz;
COMMENT ON COLUMN segments.pushed_at IS 'When the walk last sent something.';

ALTER TABLE budget_ledger ADD COLUMN explanation text;
COMMENT ON COLUMN budget_ledger.explanation IS 'The reason as a sentence, with the figures of that moment.';

ALTER TABLE schedules ADD COLUMN silence_seconds integer CHECK (silence_seconds > 0);
COMMENT ON COLUMN schedules.silence_seconds IS
    'An end that only runs if the newest change is that old; else due_at is moved to when it would be. Changes do not touch this row.';

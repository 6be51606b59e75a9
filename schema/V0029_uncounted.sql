-- version: 29
-- compatible_from: 19

-- Answers whose audience is still to be counted ---------------------------------------------------------------------

ALTER TABLE idempotency_keys ADD COLUMN uncounted bigint;
COMMENT ON COLUMN idempotency_keys.uncounted IS
    'The activity whose audience the answer has still to tell: it is counted after the change is committed. Null: it is complete.';

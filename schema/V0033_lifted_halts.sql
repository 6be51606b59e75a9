-- version: 33
-- compatible_from: 19

-- Halts that end a batch at a time ------------------------------------------------------------------------------------

ALTER TABLE sending_halts
    ADD COLUMN lifting text,
    ADD COLUMN revived_update_tokens bigint NOT NULL DEFAULT 0,
    ADD COLUMN revived_start_tokens bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN sending_halts.lifting IS
    'Who lets sending go on: its tokens are being revived, a batch at a time, and the halt ends with the last. Null: it stands.';

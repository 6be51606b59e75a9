-- version: 9
-- compatible_from: 6

-- Webhooks take turns by when each was last served, not by the age of its events. A program of version 8 does not know the column.

ALTER TABLE webhooks ADD COLUMN served_at timestamptz;
COMMENT ON COLUMN webhooks.served_at IS 'When a daemon last took it to deliver. Null: none has since version 9.';

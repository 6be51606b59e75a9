-- version: 11
-- compatible_from: 1

-- Changes are events, too ------------------------------------------------------------------------------------------

ALTER TABLE changes ADD COLUMN transaction_id xid8, ADD COLUMN event_id bigint;
ALTER TABLE changes
    ALTER COLUMN transaction_id SET DEFAULT pg_current_xact_id(),
    ALTER COLUMN event_id SET DEFAULT nextval('events_event_id_seq');
COMMENT ON COLUMN changes.transaction_id IS
    'A change''s own row is its event: readers merge it with the table events by (transaction_id, event_id). Null for changes that are older than this column; nobody is told of those.';
CREATE INDEX changes_in_order ON changes (transaction_id, event_id);

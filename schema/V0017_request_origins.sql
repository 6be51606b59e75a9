-- version: 17
-- compatible_from: 16

-- Which request brought a change, so that an operator can go from a line in a log to what APNs answered, and back -----

ALTER TABLE changes ADD COLUMN request_id text, ADD COLUMN traceparent text;
COMMENT ON COLUMN changes.request_id IS
    'The X-Request-Id of the request that brought it, or its schedule; null for what Tally did by itself, and for changes older than this column.';
COMMENT ON COLUMN changes.traceparent IS 'The W3C trace context of that request, if it had one.';

ALTER TABLE schedules ADD COLUMN request_id text, ADD COLUMN traceparent text;
COMMENT ON COLUMN schedules.request_id IS 'As that of the change that it will make.';

-- version: 10
-- compatible_from: 7

-- Broadcasts to those who join a channel late ----------------------------------------------------------------------

ALTER TABLE segments ADD COLUMN alert_stamp bigint;
COMMENT ON COLUMN segments.alert_stamp IS
    'Of a channel: the timestamp under which an alert was broadcast last. Who joins later is not told of it, so a repeat for them takes another.';

-- version: 9
-- compatible_from: 6

-- The end of a halt reads the device tokens that were rejected on the way to it, the first ones first. Registrations wait while
-- this reads all devices once, and nothing else does.

CREATE INDEX devices_rejected ON devices (token_rejected_at) WHERE token_rejected_at IS NOT NULL;

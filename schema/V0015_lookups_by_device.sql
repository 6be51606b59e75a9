-- version: 15
-- compatible_from: 14

-- Cards by their device: equality only -----------------------------------------------------------------------------

-- Rings are read in the order of their device keys, a few at a time. While one activity has nearly all cards of a database
-- the planner believes that any activity has, and an index in the order of device keys looked as good to it as that of the
-- ring: each look at a small activity then read every card there is. A hash index has no order.
DROP INDEX subscriptions_by_device;
CREATE INDEX subscriptions_by_device ON subscriptions USING hash (device_key);

-- version: 3
-- compatible_from: 1

-- Starts ---------------------------------------------------------------------------------------------------------

ALTER TABLE starts ADD COLUMN fell_back boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN starts.fell_back IS 'An ordinary alert has stood in for the start, by policy; it does so once.';
COMMENT ON COLUMN starts.due_at IS
    'Pending: when to send. Claimed or unknown: when to repeat unless the phone has reported. Withheld: when the start budget allows it.';

-- A start that is withheld may have a time at which it no longer is.
DROP INDEX starts_due;
CREATE INDEX starts_due ON starts (activity_key, due_at, device_key) WHERE due_at IS NOT NULL;

-- The starts of one device within a time are its start budget.
DROP INDEX starts_by_device;
CREATE INDEX starts_by_device ON starts (device_key, claimed_at);

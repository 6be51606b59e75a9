-- version: 8
-- compatible_from: 6

-- Most changes are one update for one phone. To write the change once more when it was sent cost as much as to insert it, and
-- doubled the log. A program of version 7 does not know the column. While it runs beside newer ones, it may tell of a change as
-- merged that a newer one has sent, and the other way round.

ALTER TABLE changes ADD COLUMN sent_with_ring boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN changes.sent_with_ring IS
    'The activity had one segment when the change was accepted, a ring at rest. So the change counts as sent once the first ring has completed it, without a write here. False for a change that the ring has passed without a push.';
COMMENT ON COLUMN changes.is_sent IS
    'APNs has accepted an update with it, or may have, so it is not merged. See sent_with_ring.';

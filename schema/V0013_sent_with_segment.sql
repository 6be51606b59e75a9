-- version: 8
-- compatible_from: 6

-- Most changes are one update for one phone. To write the change once more when it was sent cost as much as to insert it, and
-- doubled the log.

ALTER TABLE changes ADD COLUMN sent_with_segment boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN changes.sent_with_segment IS
    'The change is sent by a single segment, which rested when it was accepted. So it counts as sent once that segment has completed it, without a write here. False for a change that the segment has passed without a push.';
COMMENT ON COLUMN changes.is_sent IS
    'APNs has accepted an update with it, or may have, so it is not merged. See sent_with_segment.';

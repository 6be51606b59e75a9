-- version: 6
-- compatible_from: 6

-- Cards that their apps have scheduled and that have not begun.

ALTER TABLE subscriptions ADD COLUMN pending_since timestamptz;
COMMENT ON COLUMN subscriptions.pending_since IS
    'When the app first reported the card as pending: iOS has it, and shows it from a time that the app chose. Null: it has begun. While it is set, started_at is the last report.';
-- Those that are sent nothing until they begin. The end of the activity reads them, ring by ring.
CREATE INDEX subscriptions_pending ON subscriptions (activity_key, mode, device_key)
    WHERE state = 'withheld' AND reason = 'pending';

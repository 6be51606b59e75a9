-- version: 4
-- compatible_from: 1

-- What apps saw on their cards.

ALTER TABLE subscriptions
    ADD COLUMN shown_revision bigint NOT NULL DEFAULT 0,
    ADD COLUMN shown_at timestamptz;
COMMENT ON COLUMN subscriptions.shown_revision IS
    'The newest revision that the app saw on the card and told in a receipt. It explains and decides nothing. 0: none.';
COMMENT ON COLUMN subscriptions.shown_at IS
    'When the card showed it at the latest, by the database''s clock. Never before the accept of the revision.';

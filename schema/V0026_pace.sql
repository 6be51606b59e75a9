-- version: 26
-- compatible_from: 19

-- Pauses that hold ---------------------------------------------------------------------------------------------------

ALTER TABLE segments ADD COLUMN retry_at timestamptz;
COMMENT ON COLUMN segments.retry_at IS
    'The end of the pause after a failure. New work makes the segment due no sooner; only an end cuts the pause short.';

-- Tokens that APNs calls dead although their app has reported them since ---------------------------------------------

ALTER TABLE subscriptions ADD COLUMN contradictions smallint NOT NULL DEFAULT 0;
COMMENT ON COLUMN subscriptions.contradictions IS
    'How often APNs has called the token dead since a time before its last report. Such a push is repeated three times.';
ALTER TABLE start_tokens ADD COLUMN contradictions smallint NOT NULL DEFAULT 0;
COMMENT ON COLUMN start_tokens.contradictions IS 'As subscriptions.contradictions.';

-- A token belongs to one device --------------------------------------------------------------------------------------

CREATE INDEX start_tokens_by_token ON start_tokens USING hash (token);
CREATE INDEX subscriptions_by_token ON subscriptions USING hash (update_token);

-- Phones that may still come to a channel ----------------------------------------------------------------------------

ALTER TABLE channels
    ADD COLUMN starts_until timestamptz,
    ADD COLUMN starts_from bigint,
    ADD CHECK ((starts_until IS NULL) = (starts_from IS NULL));
COMMENT ON COLUMN channels.starts_until IS
    'Until then a start that names the channel may make a card. Then the newest broadcast is repeated once; null: nothing is owed.';
COMMENT ON COLUMN channels.starts_from IS 'The oldest revision that one of these starts may carry. The repeat is for newer broadcasts.';

-- version: 9
-- compatible_from: 6

-- A device's own token lives and dies as start tokens do. A program of version 8 does not know the columns. While it runs beside
-- newer ones, it sends to rejected tokens, too, and what is reported to it revives none.

ALTER TABLE devices
    ADD COLUMN token_registered_at timestamptz,
    ADD COLUMN token_rejected_at timestamptz,
    ADD COLUMN token_contradictions smallint NOT NULL DEFAULT 0;
COMMENT ON COLUMN devices.token_registered_at IS
    'When the app last reported device_token. It is compared with the time in a 410. Null: before version 9; then updated_at is.';
COMMENT ON COLUMN devices.token_rejected_at IS
    'When APNs rejected device_token. It is kept, and nothing is sent to it until it is reported again. Null: it is not rejected.';
COMMENT ON COLUMN devices.token_contradictions IS 'As subscriptions.contradictions, of device_token.';

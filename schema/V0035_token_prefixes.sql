-- version: 35
-- compatible_from: 34

-- Phones by the first digits of a token, as answers show them -----------------------------------------------------------

-- Two bytes: with ten million tokens, some 150 share them. Equal keys share their entry, so the indexes stay small.
CREATE INDEX subscriptions_by_token_prefix ON subscriptions (substring(update_token FROM 1 FOR 2)) WHERE update_token IS NOT NULL;
CREATE INDEX start_tokens_by_token_prefix ON start_tokens (substring(token FROM 1 FOR 2));
CREATE INDEX devices_by_token_prefix ON devices (bundle_id, substring(device_token FROM 1 FOR 2)) WHERE device_token IS NOT NULL;

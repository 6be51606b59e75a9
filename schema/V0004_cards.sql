-- version: 4
-- compatible_from: 1

-- What time brings to a card -------------------------------------------------------------------------------------

ALTER TABLE subscriptions
    ADD COLUMN started_at timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN check_at timestamptz,
    ADD COLUMN woken boolean NOT NULL DEFAULT false,
    ADD COLUMN overdue boolean NOT NULL DEFAULT false,
    ADD COLUMN confirmed_revision bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN subscriptions.started_at IS
    'When the card was started, as far as is known: when its start was claimed, or when the app first reported it. 8 hours later it is over.';
COMMENT ON COLUMN subscriptions.check_at IS 'When time alone gives something to do: wake the app, report the token as overdue, the end of the 8 hours.';
COMMENT ON COLUMN subscriptions.woken IS 'The app was woken once to report the update token.';
COMMENT ON COLUMN subscriptions.overdue IS 'The update token did not come in time; it is still waited for.';
COMMENT ON COLUMN subscriptions.confirmed_revision IS
    'A revision that the phone is known to have: it said so, or its start carried it. What APNs accepted proves nothing.';
UPDATE subscriptions SET started_at = registered_at, confirmed_revision = 0,
    check_at = CASE WHEN state NOT IN ('over', 'dead') THEN registered_at + interval '8 hours' END;
CREATE INDEX subscriptions_checks ON subscriptions (check_at) WHERE check_at IS NOT NULL;

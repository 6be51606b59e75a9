-- version: 32
-- compatible_from: 19

-- Cards that are suspect and withheld ---------------------------------------------------------------------------------

-- Else the end of a halt reads all cards of the app to find them.
CREATE INDEX subscriptions_withheld_suspects ON subscriptions (rejected_at) WHERE state = 'withheld' AND rejected_at IS NOT NULL;

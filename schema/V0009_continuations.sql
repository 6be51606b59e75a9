-- version: 5
-- compatible_from: 1

-- Cards of long activities that a new card continues.

CREATE TABLE continuations (
    activity_key   bigint NOT NULL REFERENCES activities ON DELETE CASCADE,
    device_key     bigint NOT NULL REFERENCES devices ON DELETE CASCADE,
    activitykit_id text NOT NULL,
    started_at     timestamptz NOT NULL,
    attempts       smallint NOT NULL,
    handed_over    boolean NOT NULL DEFAULT false,
    leaving        boolean NOT NULL DEFAULT false,
    generation     bigint NOT NULL DEFAULT 0,
    update_token   bytea CHECK (length(update_token) BETWEEN 1 AND 256),
    due_at         timestamptz,
    failures       smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (activity_key, device_key, activitykit_id),
    CHECK ((due_at IS NOT NULL) = (update_token IS NOT NULL)),
    CHECK (handed_over OR due_at IS NULL)
);
COMMENT ON TABLE continuations IS
    'One card that a new card is to continue, or has continued (policy continue_after_hours). Written before the start of the new card leaves.';
COMMENT ON COLUMN continuations.activitykit_id IS
    'ActivityKit''s id of the old card. It tells reports of the old card from reports of the new one.';
COMMENT ON COLUMN continuations.attempts IS
    'Pushes that started the old card. They still count in the start budget of the device.';
COMMENT ON COLUMN continuations.handed_over IS
    'The new card has the row in subscriptions. Reports of the old card change nothing any more.';
COMMENT ON COLUMN continuations.leaving IS 'The old card had to end for other reasons, and so must the new one.';
COMMENT ON COLUMN continuations.generation IS 'Of the report that told the token of the old card. An older report does not replace it.';
COMMENT ON COLUMN continuations.update_token IS 'Where the end of the old card goes. Null once it has been sent.';
COMMENT ON COLUMN continuations.due_at IS
    'When to send the end of the old card. The daemon that sends it moves this by its lease, so another one tries if it dies.';
CREATE INDEX continuations_due ON continuations (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX continuations_by_device ON continuations (device_key, started_at);

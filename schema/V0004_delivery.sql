-- version: 1
-- compatible_from: 1

-- Who is sent what: starts, cards, the work of the sender, budgets and halts.

CREATE TYPE start_state AS ENUM ('pending', 'claimed', 'unknown', 'sent', 'settled', 'withheld', 'failed', 'cancelled');

CREATE TABLE starts (
    activity_key bigint NOT NULL REFERENCES activities ON DELETE CASCADE,
    device_key   bigint NOT NULL REFERENCES devices ON DELETE CASCADE,
    state        start_state NOT NULL,
    attempts     smallint NOT NULL DEFAULT 0,
    failures     smallint NOT NULL DEFAULT 0,
    revision     bigint,
    due_at       timestamptz,
    claimed_at   timestamptz,
    renewed      boolean NOT NULL DEFAULT false,
    reason       text,
    fell_back    boolean NOT NULL DEFAULT false,
    PRIMARY KEY (activity_key, device_key),
    CHECK ((state IN ('pending', 'claimed')) <= (due_at IS NOT NULL)),
    CHECK (state <> 'claimed' OR claimed_at IS NOT NULL)
);
COMMENT ON TABLE starts IS
    'One start per device and activity. It is claimed here before its push leaves (promise 6).';
COMMENT ON COLUMN starts.attempts IS 'Claims whose push may have left. 2: the start was repeated.';
COMMENT ON COLUMN starts.failures IS
    'Attempts in a row that certainly started nothing. They set the pause before the next.';
COMMENT ON COLUMN starts.due_at IS
    'Pending: when to send. Claimed or unknown: when to repeat unless the phone reports. Withheld: when the start budget allows it.';
COMMENT ON COLUMN starts.renewed IS
    'The device registered again while its start was claimed. If the start fails, it is tried again.';
COMMENT ON COLUMN starts.fell_back IS 'An ordinary alert was sent in place of the start, once, by policy.';
CREATE INDEX starts_due ON starts (activity_key, due_at, device_key) WHERE due_at IS NOT NULL;
CREATE INDEX starts_by_device ON starts (device_key, claimed_at);

CREATE TYPE subscription_mode AS ENUM ('token', 'channel');
CREATE TYPE subscription_state AS ENUM ('waiting_for_token', 'riding', 'due', 'withheld', 'rejected', 'dead', 'over');

CREATE TABLE subscriptions (
    activity_key       bigint NOT NULL REFERENCES activities ON DELETE CASCADE,
    device_key         bigint NOT NULL REFERENCES devices ON DELETE CASCADE,
    mode               subscription_mode NOT NULL,
    state              subscription_state NOT NULL,
    frequent           boolean NOT NULL DEFAULT false,
    update_token       bytea CHECK (length(update_token) BETWEEN 1 AND 256),
    generation         bigint NOT NULL DEFAULT 0,
    known_revision     bigint NOT NULL DEFAULT 0,
    heard_revision     bigint NOT NULL DEFAULT 0,
    due_at             timestamptz,
    failures           smallint NOT NULL DEFAULT 0,
    activitykit_id     text,
    leaving            boolean NOT NULL DEFAULT false,
    reason             text,
    registered_at      timestamptz NOT NULL DEFAULT now(),
    started_at         timestamptz NOT NULL DEFAULT now(),
    check_at           timestamptz,
    woken              boolean NOT NULL DEFAULT false,
    overdue            boolean NOT NULL DEFAULT false,
    confirmed_revision bigint NOT NULL DEFAULT 0,
    rejected_at        timestamptz,
    contradictions     smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (activity_key, device_key),
    CHECK (mode = 'channel' OR state = 'waiting_for_token' OR update_token IS NOT NULL OR state = 'over'),
    CHECK ((state = 'due') = (due_at IS NOT NULL)),
    CHECK (mode = 'token' OR (state IN ('riding', 'due', 'over')))
);
COMMENT ON TABLE subscriptions IS
    'One card: a Live Activity on one phone, with its update token or as a listener of a channel.';
COMMENT ON COLUMN subscriptions.state IS
    'riding: the ring or the channel serves it. due: it is served alone at due_at (catch-up or retry). Cards in the other states are sent nothing.';
COMMENT ON COLUMN subscriptions.frequent IS 'The device allows frequent pushes, so its budget class is frequent.';
COMMENT ON COLUMN subscriptions.known_revision IS
    'A revision that this card certainly has. The ring does not write it.';
COMMENT ON COLUMN subscriptions.heard_revision IS
    'While due: the card has had the alerts and must_deliver changes up to this revision (promise 4).';
COMMENT ON COLUMN subscriptions.activitykit_id IS
    'ActivityKit''s id of the card. It tells a new token from a new card.';
COMMENT ON COLUMN subscriptions.leaving IS 'The card must end on the phone. The row goes when the end was sent.';
COMMENT ON COLUMN subscriptions.registered_at IS
    'When the app last reported this token. It is compared with the time in a 410.';
COMMENT ON COLUMN subscriptions.started_at IS
    'When the start was claimed, or when the app first reported the card. Eight hours later it is over.';
COMMENT ON COLUMN subscriptions.check_at IS
    'When time alone gives work: wake the app, report the token as overdue, end the card after eight hours.';
COMMENT ON COLUMN subscriptions.woken IS 'The app was woken once to report the update token.';
COMMENT ON COLUMN subscriptions.overdue IS 'The update token did not come in time. Tally still waits for it.';
COMMENT ON COLUMN subscriptions.confirmed_revision IS
    'A revision that the phone certainly shows: it said so, or its start carried it. An accepted push proves nothing.';
COMMENT ON COLUMN subscriptions.rejected_at IS 'When the token last became rejected.';
COMMENT ON COLUMN subscriptions.contradictions IS
    'How often APNs called the token dead since a time before its last report. Such a push is repeated three times.';
CREATE INDEX subscriptions_ring ON subscriptions (activity_key, device_key) WHERE mode = 'token' AND state = 'riding';
CREATE INDEX subscriptions_due ON subscriptions (activity_key, mode, due_at) WHERE state = 'due';
-- A ring reads its own due cards in this order. In the order of times it would read those of the other rings, too.
CREATE INDEX subscriptions_due_in_order ON subscriptions (activity_key, mode, device_key, due_at) WHERE state = 'due';
CREATE INDEX subscriptions_checks ON subscriptions (check_at) WHERE check_at IS NOT NULL;
CREATE INDEX subscriptions_rejected ON subscriptions (rejected_at) WHERE state = 'rejected';
-- A hash index has no order. The planner took an ordered one for the ring of a small activity, and read every card.
CREATE INDEX subscriptions_by_device ON subscriptions USING hash (device_key);
CREATE INDEX subscriptions_by_token ON subscriptions USING hash (update_token);
CREATE INDEX subscriptions_by_token_prefix ON subscriptions (substring(update_token FROM 1 FOR 2)) WHERE update_token IS NOT NULL;
CREATE INDEX subscriptions_withheld_suspects ON subscriptions (rejected_at)
    WHERE state = 'withheld' AND rejected_at IS NOT NULL;

CREATE TRIGGER subscriptions_stamp_rejection BEFORE UPDATE OF state ON subscriptions
    FOR EACH ROW WHEN (NEW.state = 'rejected' AND OLD.state <> 'rejected') EXECUTE FUNCTION stamp_rejection();

CREATE TABLE segments (
    activity_key       bigint NOT NULL REFERENCES activities ON DELETE CASCADE,
    segment            smallint NOT NULL CHECK (segment >= -1),
    due_at             timestamptz,
    wakes              bigint NOT NULL DEFAULT 0,
    lease_owner        uuid,
    lease_until        timestamptz,
    completed_revision bigint NOT NULL DEFAULT 0,
    lap_revision       bigint,
    lap_origin         bigint,
    alert_revision     bigint,
    alert_origin       bigint,
    cursor             bigint NOT NULL DEFAULT 0,
    failures           smallint NOT NULL DEFAULT 0,
    pushed_at          timestamptz,
    alert_stamp        bigint,
    after_key          bigint NOT NULL DEFAULT 0,
    through_key        bigint NOT NULL DEFAULT 9223372036854775807,
    lease_daemon       uuid,
    unsent_after       bigint,
    retry_at           timestamptz,
    PRIMARY KEY (activity_key, segment),
    CHECK ((lap_revision IS NULL) = (lap_origin IS NULL)),
    CHECK ((alert_revision IS NULL) = (alert_origin IS NULL)),
    CHECK ((lease_owner IS NULL) = (lease_until IS NULL)),
    CHECK (after_key >= 0 AND after_key < through_key)
) WITH (fillfactor = 50);
COMMENT ON TABLE segments IS
    'Work of the sender. Each ring of update tokens is a row; together the rings hold every device key once. Segment -1 is the channel.';
COMMENT ON COLUMN segments.due_at IS 'When a worker must look. Null: at rest.';
COMMENT ON COLUMN segments.wakes IS 'Counts new work. A worker rests only if the count has not changed meanwhile.';
COMMENT ON COLUMN segments.completed_revision IS 'Every card of the ring has been sent this revision or a newer one.';
COMMENT ON COLUMN segments.lap_origin IS
    'Where the cursor was when lap_revision was first sent. The lap ends when the walk is back there.';
COMMENT ON COLUMN segments.alert_origin IS 'As lap_origin, for the newest alert.';
COMMENT ON COLUMN segments.cursor IS 'Device key of the last destination of the last stored batch.';
COMMENT ON COLUMN segments.pushed_at IS 'When the walk last sent something.';
COMMENT ON COLUMN segments.alert_stamp IS
    'The timestamp under which an alert last left. A repeat of that state without the alert gets another one.';
COMMENT ON COLUMN segments.after_key IS
    'The ring holds devices with greater keys. Ring 0 begins at 0 and has the starts.';
COMMENT ON COLUMN segments.through_key IS
    'The greatest device key of the ring. It falls when the ring is divided, under its lease and the activity''s lock.';
COMMENT ON COLUMN segments.lease_daemon IS
    'The daemon of the lease. Each daemon leaves half of the rings of an activity to others.';
COMMENT ON COLUMN segments.unsent_after IS
    'The walk has begun newer revisions than this, and nobody was sent them. They are merged into what is sent next. Null: the last one was sent, or there was nobody to send it to.';
COMMENT ON COLUMN segments.retry_at IS
    'The end of the pause after a failure. Only an end makes the segment due earlier.';
CREATE INDEX segments_due ON segments (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX segments_further_due ON segments (due_at) WHERE segment > 0 AND due_at IS NOT NULL;

CREATE TABLE wake_ups (
    wake_up_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    activity_key bigint NOT NULL,
    device_key   bigint
);
COMMENT ON TABLE wake_ups IS
    'Registrations that give a segment work. They append here, because thousands would wait for the one row of their segment.';
COMMENT ON COLUMN wake_ups.device_key IS
    'Whose card has work. Null: several cards. Only its ring and the channel are woken.';

CREATE TYPE budget_class AS ENUM ('ordinary', 'frequent', 'channel');

CREATE TABLE budget_ledger (
    activity_key bigint NOT NULL REFERENCES activities ON DELETE CASCADE,
    class        budget_class NOT NULL,
    revision     bigint NOT NULL,
    priority     smallint NOT NULL CHECK (priority IN (5, 10)),
    reason       text NOT NULL,
    decided_at   timestamptz NOT NULL DEFAULT now(),
    explanation  text,
    PRIMARY KEY (activity_key, class, revision)
);
COMMENT ON TABLE budget_ledger IS
    'The priority of a revision for a class of devices, and the reason. Rows of priority 10 are what was spent (promise 10). A routine change needs no row.';
COMMENT ON COLUMN budget_ledger.explanation IS 'The reason as a sentence, with the figures of that moment.';

CREATE TABLE pushes (
    push_key    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    push_id     uuid NOT NULL,
    apns_id     uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
    bundle_id   text NOT NULL REFERENCES apps ON DELETE CASCADE,
    environment apns_environment NOT NULL,
    device_key  bigint REFERENCES devices ON DELETE CASCADE,
    token       bytea NOT NULL CHECK (length(token) BETWEEN 1 AND 256),
    push_type   text NOT NULL,
    priority    smallint NOT NULL CHECK (priority IN (1, 5, 10)),
    expiration  bigint CHECK (expiration >= 0),
    collapse_id text CHECK (octet_length(collapse_id) BETWEEN 1 AND 64),
    body        bytea NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    deadline    timestamptz NOT NULL,
    due_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    failures    smallint NOT NULL DEFAULT 0
);
COMMENT ON TABLE pushes IS
    'Ordinary pushes, a row per token. A row goes when APNs has answered or its deadline has passed. The outcome is an event.';
COMMENT ON COLUMN pushes.push_id IS 'What the caller was told. Pushes of one request share it.';
COMMENT ON COLUMN pushes.apns_id IS 'The apns-id of every try.';
COMMENT ON COLUMN pushes.device_key IS 'The device whose token it is. Null: the caller gave the token.';
COMMENT ON COLUMN pushes.due_at IS
    'When to try. The daemon that takes a row moves it by its lease, so another one tries if it dies.';
CREATE INDEX pushes_by_device ON pushes (device_key) WHERE device_key IS NOT NULL;
CREATE INDEX pushes_due ON pushes (environment, due_at);

CREATE TABLE sending_halts (
    bundle_id             text NOT NULL REFERENCES apps ON DELETE CASCADE,
    environment           apns_environment NOT NULL,
    halted_at             timestamptz NOT NULL DEFAULT clock_timestamp(),
    suspect_from          timestamptz NOT NULL,
    answers               integer NOT NULL CHECK (answers > 0),
    rejections            integer NOT NULL,
    probes                smallint NOT NULL DEFAULT 0 CHECK (probes >= 0),
    probe_at              timestamptz NOT NULL,
    lifting               text,
    revived_update_tokens bigint NOT NULL DEFAULT 0,
    revived_start_tokens  bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (bundle_id, environment),
    CHECK (rejections BETWEEN 1 AND answers)
);
COMMENT ON TABLE sending_halts IS
    'While a row exists, daemons send only a few test pushes for that app and environment (promise 9).';
COMMENT ON COLUMN sending_halts.suspect_from IS 'Tokens rejected since then are revived when the halt is lifted.';
COMMENT ON COLUMN sending_halts.probe_at IS 'When the next test pushes may leave. The daemon that sends them moves it.';
COMMENT ON COLUMN sending_halts.lifting IS
    'Who resumes sending. Tokens are being revived in batches, and the halt ends with the last. Null: the halt stands.';

CREATE UNLOGGED TABLE answer_counts (
    daemon      uuid NOT NULL,
    bundle_id   text NOT NULL,
    environment apns_environment NOT NULL,
    answers     bigint NOT NULL CHECK (answers >= 0),
    rejections  bigint NOT NULL,
    counted_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (daemon, bundle_id, environment),
    CHECK (rejections BETWEEN 0 AND answers)
);
COMMENT ON TABLE answer_counts IS
    'What each daemon counted of the last minute''s answers. The sum shows mass rejections that no daemon sees alone. It is worthless after a crash, so it is not logged.';

CREATE TABLE daemons (
    daemon  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    renewal bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
COMMENT ON TABLE daemons IS
    'The daemons that are alive. If a count stands still for 3 seconds, another daemon deletes the row. No wall clock counts.';
COMMENT ON COLUMN daemons.daemon IS 'A daemon that was deleted enters again under a new number.';
COMMENT ON COLUMN daemons.renewal IS 'Each daemon counts its own up, twice a second.';

CREATE TABLE partitions (
    partition smallint PRIMARY KEY CHECK (partition BETWEEN 0 AND 63),
    owner     bigint,
    epoch     bigint NOT NULL CHECK (epoch > 0)
) WITH (fillfactor = 50);
COMMENT ON TABLE partitions IS
    'Which daemon owns which part of the activities. No push depends on it yet. A partition without a row was never owned.';
COMMENT ON COLUMN partitions.owner IS 'Of daemons. It counts while that row exists. Null: released.';
COMMENT ON COLUMN partitions.epoch IS 'Grows with each owner. A write of an owner names it.';

-- version: 8
-- compatible_from: 7

-- What each daemon has counted of the last minute's answers; worth nothing after a crash, so not in the log ------

CREATE UNLOGGED TABLE answer_counts (
    daemon      uuid NOT NULL,
    bundle_id   text NOT NULL,
    environment apns_environment NOT NULL,
    answers     bigint NOT NULL CHECK (answers >= 0),
    rejections  bigint NOT NULL CHECK (rejections BETWEEN 0 AND answers),
    counted_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (daemon, bundle_id, environment)
);
COMMENT ON TABLE answer_counts IS 'Together these say whether APNs rejects tokens in masses (promise 9), when no daemon alone has seen enough.';

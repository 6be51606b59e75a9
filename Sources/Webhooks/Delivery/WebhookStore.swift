import APITypes
import ActivityModel
import Ownership
import Postgres
import Record
import Store

/// A webhook as its worker reads it.
struct DueWebhook: Sendable {
    let key: Int64
    let app: BundleID
    let id: WebhookID
    let url: String
    let filter: EventFilter
    let batchSize: Int
    let secret: WebhookSecret
    let version: Int64
    let failures: Int
    let failingFor: Duration
    var place: EventCursor
    /// The message that is on its way, or was when a worker stopped.
    var message: WebhookMessage?
}

/// One request: its id and the last event that it may carry. Both are stored before it leaves, so a repeat is the same.
struct WebhookMessage: Sendable, Hashable {
    let id: String
    let end: EventCursor
}

/// The statements about `webhooks` that deliver. Each names the version and the place that the worker knows: if an
/// operator or another daemon was faster, it changes nothing.
struct WebhookStore: Sendable {
    let database: Database
    let masterKeys: MasterKeys
    let retention: Duration

    /// Takes webhooks that may have something to deliver, of these partitions, without those at work. Those come first
    /// that wait the longest since their last turn, or since the time of their repeat. How old their events are does not
    /// count: a receiver that is behind would always be first.
    ///
    /// - Parameters:
    ///   - partitions: Whose webhooks are taken.
    ///   - busy: Those at work.
    ///   - limit: How many are taken at most.
    ///   - share: How many webhooks of an app may be at work while those of other apps wait.
    /// - Returns: Their keys, in no order.
    /// - Throws: Whatever the database throws.
    func claim(in partitions: [Int16], except busy: [Int64], limit: Int, share: Int) async throws -> [Int64] {
        try await database.query(
            """
            WITH waiting AS (
                SELECT w.webhook_key, w.bundle_id, b.webhook_key IS NOT NULL AS is_busy,
                       greatest(coalesce(w.served_at, w.created_at), w.next_try_at) AS since
                FROM webhooks AS w LEFT JOIN unnest(\(busy)) AS b(webhook_key) ON b.webhook_key = w.webhook_key
                WHERE b.webhook_key IS NOT NULL
                   OR ((w.webhook_key % \(Int64(Ownership.partitions)))::smallint = ANY(\(partitions))
                       AND w.pause_reason IS NULL AND (w.next_try_at IS NULL OR w.next_try_at <= clock_timestamp()))
            ), ranked AS (
                SELECT webhook_key, is_busy, since,
                       row_number() OVER (PARTITION BY bundle_id ORDER BY is_busy DESC, since, webhook_key) AS place
                FROM waiting
            ), chosen AS (
                SELECT webhook_key FROM ranked WHERE NOT is_busy
                ORDER BY place > \(share), since, webhook_key LIMIT \(limit)
            ), claimed AS (
                SELECT webhook_key FROM webhooks WHERE webhook_key IN (SELECT webhook_key FROM chosen)
                FOR NO KEY UPDATE SKIP LOCKED
            )
            UPDATE webhooks AS w SET served_at = statement_timestamp()
            FROM claimed WHERE w.webhook_key = claimed.webhook_key
            RETURNING w.webhook_key
            """
        ).decoded(as: Int64.self)
    }

    /// Reads one webhook; nil if there is nothing to do for it. A gap before its place is reported once.
    func begin(_ key: Int64) async throws -> DueWebhook? {
        let answers = try await database.pipeline([Self.gap(key, retention), Self.selection(key)])
        return try answers[1].first.map { try webhook(key, $0) }
    }

    private func webhook(_ key: Int64, _ row: Row) throws -> DueWebhook {
        let app = BundleID(stored: try row["bundle_id"])
        let id = WebhookID(stored: try row["webhook_id"])
        let kinds: [String]? = try row["kinds"]
        let secret = try SecretSeal.webhook(app, id).open(row["secret_sealed"], under: masterKeys)
        let failingFor: Double = try row["failing_for"]
        let place = Self.cursor(try row["transaction_id"], try row["event_id"])
        let message: String? = try row["message_id"]
        let end = Self.cursor(try row["message_transaction_id"], try row["message_event_id"])
        return DueWebhook(
            key: key,
            app: app,
            id: id,
            url: try row["url"],
            filter: EventFilter(app: app, kinds: kinds.map { Set($0.map(Event.Kind.init(stored:))) }),
            batchSize: try row["batch_size"],
            secret: WebhookSecret(bytes: secret),
            version: try row["version"],
            failures: try row["failures"],
            failingFor: .seconds(failingFor),
            place: place ?? .oldest,
            message: message.flatMap { id in end.map { WebhookMessage(id: id, end: $0) } }
        )
    }

    /// Stores that everything up to `place` is delivered or not wanted, and what is sent next.
    ///
    /// - Returns: False if the worker has to stop.
    func advance(
        _ webhook: DueWebhook,
        to place: EventCursor,
        at time: Instant?,
        delivered: Bool,
        _ next: WebhookMessage? = nil
    ) async throws -> Bool {
        try await database.execute(
            """
            UPDATE webhooks SET transaction_id = \(String(place.transaction))::xid8, event_id = \(place.event),
                read_at = coalesce(\(time?.stored), clock_timestamp()), message_id = \(next?.id),
                message_transaction_id = \(next.map { String($0.end.transaction) })::xid8,
                message_event_id = \(next?.end.event), failures = 0, failing_since = NULL, next_try_at = NULL,
                last_error = NULL,
                delivered_at = CASE WHEN \(delivered) THEN clock_timestamp() ELSE delivered_at END
            WHERE \(unescaped: Self.isKnown(webhook))
            """
        ) == 1
    }

    /// Stores what is sent next.
    ///
    /// - Returns: False if the worker has to stop.
    func prepare(_ webhook: DueWebhook, _ message: WebhookMessage) async throws -> Bool {
        try await database.execute(
            """
            UPDATE webhooks SET message_id = \(message.id),
                message_transaction_id = \(String(message.end.transaction))::xid8,
                message_event_id = \(message.end.event)
            WHERE \(unescaped: Self.isKnown(webhook)) AND message_id IS NULL
            """
        ) == 1
    }

    /// Stores when a failed request is repeated.
    func postpone(_ webhook: DueWebhook, by pause: Duration, error: String) async throws {
        _ = try await database.execute(
            """
            UPDATE webhooks SET failures = failures + 1, failing_since = coalesce(failing_since, clock_timestamp()),
                next_try_at = clock_timestamp() + \(pause), last_error = \(error)
            WHERE \(unescaped: Self.isKnown(webhook))
            """
        )
    }

    /// Pauses a webhook, and reports that. It keeps its place.
    func pause(_ webhook: DueWebhook, _ reason: WebhookPause, error: String) async throws {
        _ = try await database.execute(
            """
            WITH paused AS (
                UPDATE webhooks SET pause_reason = \(reason.rawValue), paused_at = clock_timestamp(), version = version + 1, last_error = \(error),
                    next_try_at = NULL
                WHERE \(unescaped: Self.isKnown(webhook))
                RETURNING bundle_id, webhook_id, pause_reason, last_error
            )
            \(unescaped: Self.pauseEvent)
            """
        )
    }

    // MARK: SQL

    private static let pauseEvent = EventRows.insertionOfApps(
        .webhookPaused,
        from: "paused",
        detail: "json_build_object('webhook_id', r.webhook_id, 'reason', r.pause_reason, 'error', r.last_error)"
    )

    private static let gapEvent = EventRows.insertionOfApps(
        .webhookGap,
        from: "told",
        detail: """
            json_build_object('webhook_id', r.webhook_id, \
            'after', to_char(r.read_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
            """
    )

    /// All of its values are numbers.
    private static func isKnown(_ webhook: DueWebhook) -> String {
        """
        webhook_key = \(webhook.key) AND version = \(webhook.version) AND pause_reason IS NULL
          AND transaction_id = '\(webhook.place.transaction)'::xid8 AND event_id = \(webhook.place.event)
        """
    }

    private static func selection(_ key: Int64) -> Query {
        """
        SELECT bundle_id, webhook_id, url, kinds, batch_size, secret_sealed, version, transaction_id::text, event_id,
               message_id, message_transaction_id::text, message_event_id, failures,
               coalesce(extract(epoch FROM clock_timestamp() - failing_since), 0)::float8 AS failing_for
        FROM webhooks
        WHERE webhook_key = \(key) AND pause_reason IS NULL
          AND (next_try_at IS NULL OR next_try_at <= clock_timestamp())
        """
    }

    /// Events of the days after `read_at` may be gone if they are old enough and the partition of that day is dropped.
    private static func gap(_ key: Int64, _ retention: Duration) -> Query {
        """
        WITH late AS (
            SELECT webhook_key, read_at FROM webhooks
            WHERE webhook_key = \(key) AND read_at < clock_timestamp() - \(retention)
              AND to_regclass('events_' || to_char(read_at AT TIME ZONE 'UTC', 'YYYYMMDD')) IS NULL
            FOR NO KEY UPDATE
        ), told AS (
            UPDATE webhooks AS w SET read_at = clock_timestamp() - \(retention)
            FROM late WHERE w.webhook_key = late.webhook_key
            RETURNING w.bundle_id, w.webhook_id, late.read_at
        )
        \(unescaped: gapEvent)
        """
    }

    private static func cursor(_ transaction: String?, _ event: Int64?) -> EventCursor? {
        guard let transaction = transaction.flatMap({ UInt64($0) }), let event else { return nil }
        return EventCursor(transaction: transaction, event: event)
    }
}

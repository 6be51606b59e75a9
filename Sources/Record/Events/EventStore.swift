import APITypes
import ActivityModel
import JSON
import Postgres
import Store

/// Reads events in their order: the rows of `events`, and those of `changes`, which are events of their own.
package struct EventStore: Sendable {
    let database: Database

    /// The most rows that one statement looks at, whatever the filter leaves of them.
    package static let scanned = 1_000

    /// Events after a place as far as their order is final, at most `limit` of them: those of transactions that are not
    /// older than every running one come a moment later.
    ///
    /// It looks at a bounded number of rows. A page that is not the last may so be short or empty; reading goes on at
    /// its ``EventPage/next``.
    package func page(after cursor: EventCursor, matching filter: EventFilter, limit: Int) async throws -> EventPage {
        let found = try Self.read(try await database.query(Self.query(from: cursor, ">", "ASC", of: filter.app)))
        let end = found.isLast ? max(found.bound, cursor) : found.events.last?.cursor ?? found.bound
        return filter.page(of: found.events, limit: limit, end: end, isLast: found.isLast)
    }

    /// The same backwards: the events before a place, the newest first.
    func page(before cursor: EventCursor, matching filter: EventFilter, limit: Int) async throws -> EventPage {
        let found = try Self.read(try await database.query(Self.query(from: cursor, "<", "DESC", of: filter.app)))
        let end = found.events.last?.cursor ?? .oldest
        return filter.page(of: found.events, limit: limit, end: end, isLast: found.isLast)
    }

    /// What one statement has found.
    private struct Found {
        var events: [EventRecord] = []
        /// The oldest transaction that still runs.
        var bound = EventCursor.oldest
        var isLast = true
    }

    private static func read(_ rows: Rows) throws -> Found {
        var found = Found()
        for row in rows {
            let bound: String = try row["bound"]
            found.bound = EventCursor(transaction: UInt64(bound) ?? 0, event: 0)
            let number: Int? = try row["number"]
            if number == Self.scanned { found.isLast = false }
            if let event = try Self.event(row) { found.events.append(event) }
        }
        return found
    }

    /// Nil for a row that has only the bound.
    private static func event(_ row: Row) throws -> EventRecord? {
        let number: String? = try row["transaction_id"]
        guard let transaction = number.flatMap(UInt64.init) else { return nil }
        let kind: String = try row["kind"]
        let app: String? = try row["bundle_id"]
        let environment: String? = try row["environment"]
        let activity: String? = try row["activity_id"]
        let device: String? = try row["device_id"]
        let detail: String = try row["detail"]
        return EventRecord(
            cursor: EventCursor(transaction: transaction, event: try row["event_id"]),
            at: try row["at"],
            kind: Event.Kind(stored: kind),
            app: app.map(BundleID.init(stored:)),
            environment: try environment.map { word throws in try .stored(word) },
            activity: activity.map(ActivityID.init(stored:)),
            device: device.map(DeviceID.init(stored:)),
            detail: try JSONValue(parsing: detail).object ?? [:]
        )
    }

    /// One statement has one snapshot, so the bound and the events belong together. If the last row belongs to another
    /// app, it is returned all the same, because reading goes on behind it.
    private static func query(
        from cursor: EventCursor,
        _ sign: StaticString,
        _ order: StaticString,
        of app: BundleID?
    ) -> Query {
        let (sign, order) = (sign.description, order.description)
        return """
            SELECT bound.transaction_id::text AS bound, e.number, e.transaction_id::text, e.event_id, e.at, e.kind,
                   e.bundle_id, e.environment::text, e.activity_id, e.device_id, e.detail::text
            FROM (SELECT \(unescaped: EventVisibility.bound) AS transaction_id) AS bound
            LEFT JOIN LATERAL (
                SELECT s.*, row_number() OVER (ORDER BY transaction_id \(unescaped: order), event_id \(unescaped: order)) AS number FROM (
                (SELECT transaction_id, event_id, at, kind, bundle_id, environment, activity_id, device_id, detail
                 FROM events
                 WHERE transaction_id < bound.transaction_id
                   AND (transaction_id, event_id) \(unescaped: sign) (\(String(cursor.transaction))::xid8, \(cursor.event))
                 ORDER BY transaction_id \(unescaped: order), event_id \(unescaped: order) LIMIT \(scanned))
                UNION ALL
                (SELECT c.transaction_id, c.event_id, c.accepted_at, \(Event.Kind.changeAccepted.word), a.bundle_id,
                        a.environment, a.activity_id, NULL,
                        json_strip_nulls(json_build_object('revision', c.revision, 'event', c.kind, 'urgency', c.urgency,
                            'alert', c.alert IS NOT NULL, 'must_deliver', c.must_deliver,
                            'request_id', c.request_id, 'traceparent', c.traceparent))
                 FROM changes AS c JOIN activities AS a USING (activity_key)
                 WHERE c.transaction_id < bound.transaction_id
                   AND (c.transaction_id, c.event_id) \(unescaped: sign) (\(String(cursor.transaction))::xid8, \(cursor.event))
                 ORDER BY c.transaction_id \(unescaped: order), c.event_id \(unescaped: order) LIMIT \(scanned))
                ORDER BY transaction_id \(unescaped: order), event_id \(unescaped: order) LIMIT \(scanned)
                ) AS s
            ) AS e ON \(app?.rawValue)::text IS NULL OR e.bundle_id = \(app?.rawValue) OR e.number = \(scanned)
            ORDER BY e.transaction_id \(unescaped: order), e.event_id \(unescaped: order)
            """
    }

    /// The place after everything whose order is final by now.
    package func end() async throws -> EventCursor {
        let rows = try await database.query("SELECT \(unescaped: EventVisibility.bound)::text")
        for xmin in try rows.decoded(as: String.self) { return EventCursor(transaction: UInt64(xmin) ?? 0, event: 0) }
        return .oldest
    }
}

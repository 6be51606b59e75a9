package import APITypes
package import ActivityModel
package import JSON
import Postgres

/// An event as it is read.
package struct EventRecord: Sendable, Hashable {
    /// Where a reader goes on after it.
    package let cursor: EventCursor
    package let at: Instant
    package let kind: Event.Kind
    package let app: BundleID?
    package let environment: APNSEnvironment?
    package let activity: ActivityID?
    package let device: DeviceID?
    package let detail: JSONObject
}

/// Events in order, and where to go on.
package struct EventPage: Sendable {
    package let events: [EventRecord]
    /// Nothing that matched the filter appears before this place any more.
    package let next: EventCursor
}

/// Which events a reader wants; what is nil does not matter.
package struct EventFilter: Sendable, Hashable {
    package var app: BundleID?
    package var activity: ActivityID?
    package var device: DeviceID?
    package var kinds: [Event.Kind]?

    package init(
        app: BundleID? = nil,
        activity: ActivityID? = nil,
        device: DeviceID? = nil,
        kinds: [Event.Kind]? = nil
    ) {
        self.app = app
        self.activity = activity
        self.device = device
        self.kinds = kinds
    }
}

extension Orchestrator {
    /// The events after a place, at most `limit`, as far as their order is final: events of transactions that are not
    /// older than every running one come a moment later. Nil for a place: from the oldest that is kept.
    package func events(
        after cursor: EventCursor?,
        matching filter: EventFilter = EventFilter(),
        limit: Int
    ) async throws -> EventPage {
        let start = cursor ?? EventCursor(transaction: 0, event: 0)
        // One statement has one snapshot, so the bound and the events belong together.
        let rows = try await database.query(
            """
            SELECT bound.transaction_id::text, e.transaction_id::text, e.event_id, e.at, e.kind, e.bundle_id, e.environment::text,
                   e.activity_id, e.device_id, e.detail::text
            FROM (SELECT pg_snapshot_xmin(pg_current_snapshot()) AS transaction_id) AS bound
            LEFT JOIN LATERAL (
                SELECT * FROM events AS e
                WHERE e.transaction_id < bound.transaction_id
                  AND (e.transaction_id, e.event_id) > (\(String(start.transaction))::xid8, \(start.event))
                  AND (\(filter.app?.rawValue)::text IS NULL OR e.bundle_id = \(filter.app?.rawValue))
                  AND (\(filter.activity?.rawValue)::text IS NULL OR e.activity_id = \(filter.activity?.rawValue))
                  AND (\(filter.device?.rawValue)::text IS NULL OR e.device_id = \(filter.device?.rawValue))
                  AND (\(filter.kinds == nil) OR e.kind = ANY(\(filter.kinds?.map(\.word) ?? [])))
                ORDER BY e.transaction_id, e.event_id LIMIT \(limit)
            ) AS e ON true
            ORDER BY e.transaction_id, e.event_id
            """
        )
        var events: [EventRecord] = []
        var bound = start
        for (xmin, transaction, event, at, kind, app, environment, activity, device, detail) in try rows.decoded(
            as: (
                String, String?, Int64?, PGTimestamp?, String?, String?, String?, String?, String?, String?
            ).self
        ) {
            bound = EventCursor(transaction: UInt64(xmin) ?? 0, event: 0)
            guard let transaction = transaction.flatMap(UInt64.init), let event, let at, let kind, let detail else {
                continue
            }
            events.append(
                EventRecord(
                    cursor: EventCursor(transaction: transaction, event: event),
                    at: Instant(at),
                    kind: Event.Kind(kind),
                    app: app.map(BundleID.init(stored:)),
                    environment: try environment.map { word throws in try .stored(word) },
                    activity: activity.map(ActivityID.init(stored:)),
                    device: device.map(DeviceID.init(stored:)),
                    detail: try JSONValue(parsing: detail).object ?? [:]
                )
            )
        }
        let next = events.count == limit ? events.last?.cursor ?? bound : bound
        return EventPage(events: events, next: next)
    }
}

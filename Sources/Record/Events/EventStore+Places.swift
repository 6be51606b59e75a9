package import APITypes
import Postgres
import Store

extension EventStore {
    /// How much earlier than its time an event may be in the order, because a transaction is older than its events.
    private static let slack = Duration.seconds(60)

    /// A place before all events since a time. Events a little older than that may follow it.
    ///
    /// No index has the time, so it looks for the place in the order, where the times nearly grow: some forty look-ups,
    /// however many events there are.
    package func place(before time: Instant) async throws -> EventCursor {
        let sought = Instant(microseconds: time.microseconds - Int64(Self.slack / .microseconds(1)))
        var low: UInt64 = 0
        var high = try await end().transaction
        // Everything before `low` is older than the time; from `high` on nothing is.
        while low < high {
            let middle = low + (high - low) / 2
            guard let first = try await first(from: middle), first.transaction < high, first.at < sought else {
                high = middle
                continue
            }
            low = first.transaction + 1
        }
        return EventCursor(transaction: low, event: 0)
    }

    private struct First {
        let transaction: UInt64
        let at: Instant
    }

    /// The first event of a transaction or of a later one.
    private func first(from transaction: UInt64) async throws -> First? {
        let number = String(transaction)
        let rows = try await database.query(
            """
            SELECT transaction_id::text, at FROM (
                (SELECT transaction_id, event_id, at FROM events WHERE transaction_id >= \(number)::xid8
                 ORDER BY transaction_id, event_id LIMIT 1)
                UNION ALL
                (SELECT transaction_id, event_id, accepted_at FROM changes WHERE transaction_id >= \(number)::xid8
                 ORDER BY transaction_id, event_id LIMIT 1)
            ) AS e ORDER BY e.transaction_id, e.event_id LIMIT 1
            """
        )
        return try rows.first(as: (String, PGTimestamp).self).map { transaction, at in
            First(transaction: UInt64(transaction) ?? 0, at: Instant(at))
        }
    }
}

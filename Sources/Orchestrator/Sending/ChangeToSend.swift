import ActivityModel
import JSON
import Postgres

/// A change with the stamp under which it leaves.
struct ChangeToSend: Sendable {
    let revision: Revision
    let kind: ChangeKind
    let contentState: CompactJSON
    let alert: AlertContent?
    let urgency: Urgency
    /// The aps timestamp, UNIX seconds. Committed before any push carries it.
    let timestamp: Timestamp
    let staleAfterSeconds: Int?
    let relevanceScore: JSONNumber?
    let dismissAfterSeconds: Int?
    /// UNIX seconds.
    let dismissAt: Timestamp?
    let acceptedAt: Timestamp

    /// The same state as an end that removes the card at once: for a card that leaves while the activity goes on.
    var asEnd: ChangeToSend {
        ChangeToSend(
            revision: self.revision,
            kind: .end,
            contentState: self.contentState,
            alert: nil,
            urgency: self.urgency,
            timestamp: self.timestamp + 1,
            staleAfterSeconds: nil,
            relevanceScore: nil,
            dismissAfterSeconds: 0,
            dismissAt: nil,
            acceptedAt: self.acceptedAt
        )
    }
}

/// The rows of `changes` as a sender sees them: stamped, and those that were skipped marked as merged.
struct ChangeStore: Sendable {
    let database: Database

    /// The change, stamped so that phones take it: with the stamp of its accept, or with a fresh one if it has none,
    /// if its stamp is older than 30 s, or if an older revision was stamped anew meanwhile (promise 3).
    ///
    /// - Returns: Nil if the activity was deleted.
    func stamped(_ key: Int64, revision: Revision) async throws -> ChangeToSend? {
        guard let (stored, fresh) = try await self.read(key, revision, on: { try await self.database.query($0) }) else { return nil }
        if let timestamp = stored.timestamp, !Stamping.needsFreshStamp(age: stored.age), timestamp >= fresh {
            return stored.change(timestamp)
        }
        return try await self.database.withTransaction { connection in
            try await self.stampAnew(key, revision, on: connection)
        }
    }

    private func stampAnew(
        _ key: Int64,
        _ revision: Revision,
        on connection: PostgresConnection
    ) async throws -> ChangeToSend? {
        let locked = try await connection.query(
            "SELECT stamp FROM activities WHERE activity_key = \(key) FOR NO KEY UPDATE"
        )
        guard let last = try locked.single(Int64.self),
            let (stored, fresh) = try await self.read(key, revision, on: { try await connection.query($0) })
        else { return nil }
        if let timestamp = stored.timestamp, !Stamping.needsFreshStamp(age: stored.age), timestamp >= fresh {
            return stored.change(timestamp)  // another sender was faster
        }
        let timestamp = Stamping.whenSent(now: stored.now, last: last)
        _ = try await connection.pipeline([
            """
            UPDATE changes SET timestamp = \(timestamp), stamped_at = clock_timestamp()
            WHERE activity_key = \(key) AND revision = \(revision)
            """,
            """
            UPDATE activities SET stamp = \(timestamp), fresh_stamp = \(timestamp) WHERE activity_key = \(key)
            """,
        ])
        return stored.change(timestamp)
    }

    /// The statement that records the revisions which the walk jumped over.
    private static func merge(_ key: Int64, after begun: Revision, into revision: Revision) -> Query {
        """
        UPDATE changes SET merged_into = \(revision)
        WHERE activity_key = \(key) AND revision > \(begun) AND revision < \(revision) AND merged_into IS NULL
        """
    }

    /// Turns a walk to the activity's next revision, if there is one and nothing holds the walk back.
    ///
    /// - Returns: The walk, and what is to be stored with it: the revisions that it jumped over.
    func turned(_ stored: Carousel, to activity: ActivitySnapshot) async throws -> (Carousel, [Query]) {
        guard !activity.isOnBarrierLap, activity.target > stored.begun else { return (stored, []) }
        var carousel = stored
        let change = try await self.stamped(activity.key, revision: activity.target)
        carousel.turn(to: activity.target, hasAlert: change?.alert != nil)
        return (carousel, [Self.merge(activity.key, after: stored.begun, into: activity.target)])
    }

    /// The alert that a change brought.
    func alert(_ key: Int64, revision: Revision) async throws -> AlertContent? {
        let rows = try await self.database.query(
            "SELECT alert::text FROM changes WHERE activity_key = \(key) AND revision = \(revision)"
        )
        guard let text = try rows.single(String?.self) ?? nil else { return nil }
        return try AlertContent(json: JSONValue(parsing: text))
    }

    private struct Row {
        let timestamp: Timestamp?
        /// Seconds since the stamp was given.
        let age: Double
        /// The database's clock.
        let now: Timestamp
        let change: (Timestamp) -> ChangeToSend
    }

    private func read(
        _ key: Int64,
        _ revision: Revision,
        on query: (Query) async throws -> Rows
    ) async throws -> (Row, freshStamp: Timestamp)? {
        let rows = try await query(
            """
            SELECT c.kind::text, c.content_state::text, c.alert::text, c.urgency::text, c.stale_after_seconds,
                   c.relevance_score, c.dismiss_after_seconds, extract(epoch FROM c.dismiss_at)::bigint,
                   extract(epoch FROM c.accepted_at)::bigint, c.timestamp,
                   coalesce(extract(epoch FROM clock_timestamp() - c.stamped_at), 0)::float8,
                   floor(extract(epoch FROM clock_timestamp()))::bigint, a.fresh_stamp
            FROM changes AS c JOIN activities AS a USING (activity_key)
            WHERE c.activity_key = \(key) AND c.revision = \(revision)
            """
        )
        for (kind, content, alert, urgency, stale, score, dismissAfter, dismissAt, accepted, stamp, age, now, fresh)
            in try rows.decoded(
                as: (
                    String, String, String?, String, Int32?, Double?, Int32?, Int64?, Int64, Int64?, Double, Int64, Int64
                ).self
            )
        {
            let kind: ChangeKind = try .stored(kind)
            let contentState = CompactJSON(stored: Array(content.utf8))
            let alert = try alert.map { try AlertContent(json: JSONValue(parsing: $0)) }
            let urgency: Urgency = try .stored(urgency)
            let row = Row(timestamp: stamp, age: age, now: now) { timestamp in
                ChangeToSend(
                    revision: revision,
                    kind: kind,
                    contentState: contentState,
                    alert: alert,
                    urgency: urgency,
                    timestamp: timestamp,
                    staleAfterSeconds: stale.map(Int.init),
                    relevanceScore: score.flatMap(JSONNumber.init),
                    dismissAfterSeconds: dismissAfter.map(Int.init),
                    dismissAt: dismissAt,
                    acceptedAt: accepted
                )
            }
            return (row, fresh)
        }
        return nil
    }
}

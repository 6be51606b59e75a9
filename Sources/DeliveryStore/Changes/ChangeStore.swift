import APITypes
package import ActivityModel
package import Postgres
package import Store

/// The rows of `changes` as a sender sees them: stamped, and those that were skipped marked as merged.
package struct ChangeStore: Sendable {
    let database: Database
    let skews: ClockSkewWatch

    /// The change, stamped so that phones take it. It gets a fresh stamp if it has none, if its stamp is older than 30
    /// s, or if an older revision was stamped above it meanwhile (promise 3). Newer ones do not matter, whatever their
    /// stamps: two rings on different changes do not disturb each other.
    ///
    /// `lease` is that of a segment of the activity. A worker without it stamps nothing, or an old state could
    /// look newer than what the next worker has sent. With `anew` the stamp is always a new one, because the same
    /// destination gets other bytes. Nil if the activity was deleted.
    ///
    /// - Throws: ``LeaseLost``; ``StampTooEarly`` if the stamp would run ahead of the clock, which the end may do.
    package func stamped(
        _ revision: Revision,
        under lease: SegmentLease,
        anew: Bool = false
    ) async throws -> ChangeToSend? {
        let key = lease.activityKey
        let rows = try await database.query(Self.selection(key, revision))
        guard let stored = try Self.read(rows) else { return nil }
        if !anew, let change = stored.changeUnderItsStamp { return change }
        return try await database.withTransaction { connection in
            try await stampAnew(revision, under: lease, anew: anew, on: connection)
        }
    }

    private func stampAnew(
        _ revision: Revision,
        under lease: SegmentLease,
        anew: Bool,
        on connection: PostgresConnection
    ) async throws -> ChangeToSend? {
        let key = lease.activityKey
        let locked = try await connection.pipeline([
            "SELECT stamp FROM activities WHERE activity_key = \(key) FOR NO KEY UPDATE",
            // Before the segment, as who stores what a ring has sent does.
            "SELECT FROM changes WHERE activity_key = \(key) AND revision = \(revision) FOR NO KEY UPDATE",
            """
            SELECT 1 FROM segments
            WHERE \(part: SegmentRows.isRunning(lease))
            FOR SHARE
            """,
        ])
        guard let last = try locked[0].single(Int64.self),
            let stored = try Self.read(try await connection.query(Self.selection(key, revision)))
        else { return nil }
        if locked[2].isEmpty { throw LeaseLost() }
        if !anew, let change = stored.changeUnderItsStamp { return change }  // another sender was faster
        let wait = Stamping.delayBeforeStamping(now: stored.now, last: last)
        if wait > 0, stored.kind != .end { throw StampTooEarly(wait: .seconds(wait)) }
        let timestamp = Stamping.whenSent(now: stored.now, last: last)
        let skew = skews.event(activityKey: key, now: stored.now, lastStamp: last)
        _ = try await connection.pipeline(
            [
                """
                UPDATE changes SET timestamp = \(timestamp), stamped_at = clock_timestamp()
                WHERE activity_key = \(key) AND revision = \(revision)
                """,
                """
                UPDATE activities SET stamp = \(timestamp), fresh_stamp = \(timestamp) WHERE activity_key = \(key)
                """,
            ] + (skew.map { [EventRows.insertion([$0])] } ?? [])
        )
        return stored.change(timestamp)
    }

    /// The change as it would leave now, read in the transaction that has written it. Nothing is stamped.
    package static func preview(
        _ revision: Revision,
        of key: Int64,
        on connection: PostgresConnection
    ) async throws -> ChangeToSend? {
        guard let stored = try read(try await connection.query(selection(key, revision))) else { return nil }
        let last = stored.lastStamp == 0 ? nil : stored.lastStamp
        return stored.changeUnderItsStamp ?? stored.change(Stamping.whenSent(now: stored.now, last: last))
    }

    /// An SQL condition: no older change than `c` of the activity `a` has a stamp above its. Among older changes, only
    /// one with a fresh stamp can have.
    package static let isInOrder = """
        (c.timestamp >= a.fresh_stamp OR NOT EXISTS (
            SELECT FROM changes AS o
            WHERE o.activity_key = c.activity_key AND o.revision < c.revision AND o.timestamp >= c.timestamp
        ))
        """

    /// The statements that record, and write events for, the revisions between two others which a walk jumped over, or
    /// passed without a push. They are merged into the next revision that was sent, at the latest into `newer`, which
    /// somebody was sent a moment ago. If `newer` is nil, they are merged only if a later revision was sent.
    ///
    /// If none of the rings and the channel has sent any of it, the last one to come by says so. The others may still
    /// be on their way to it, unless they rest there or beyond. A walk that jumps over a revision holds its row until
    /// the walk's place and what was sent are stored. So one of two walks sees the other.
    package static func merge(
        under lease: SegmentLease,
        after sent: Revision,
        before upcoming: Revision,
        into newer: Revision?
    ) -> [Query] {
        guard upcoming > sent + 1 else { return [] }
        let key = lease.activityKey
        return [
            """
            SELECT FROM changes AS c
            WHERE c.activity_key = \(key) AND c.revision > \(sent)
              AND \(unescaped: isUnsent) AND (c.revision = coalesce(\(newer), \(upcoming) - 1) OR c.revision < least(
                  \(upcoming), coalesce(\(newer), (
                      SELECT max(n.revision) FROM changes AS n
                      WHERE n.activity_key = \(key) AND n.revision > \(sent) AND \(unescaped: SentChange.isSent("n"))
                  ), 0)
              ))
            ORDER BY c.revision FOR NO KEY UPDATE
            """,
            """
            WITH others AS (
                SELECT min(coalesce(lap_revision, completed_revision + 1)) AS next FROM segments
                WHERE activity_key = \(key) AND segment <> \(lease.segment)
            ), skipped AS MATERIALIZED (
                SELECT c.revision,
                       min(CASE WHEN \(unescaped: SentChange.isSent("c")) OR c.revision = \(newer)::bigint THEN c.revision END)
                    OVER (ORDER BY c.revision DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS next_sent
                FROM changes AS c
                WHERE c.activity_key = \(key) AND c.revision > \(sent) AND c.revision <= coalesce(\(newer)::bigint, (
                    SELECT max(n.revision) FROM changes AS n
                    WHERE n.activity_key = \(key) AND n.revision > \(sent) AND \(unescaped: SentChange.isSent("n"))
                ))
            ), merged AS (
                UPDATE changes AS c SET merged_into = s.next_sent FROM skipped AS s, others
                WHERE c.activity_key = \(key) AND c.revision = s.revision AND s.next_sent IS NOT NULL
                  AND s.revision < least(\(upcoming), others.next) AND \(unescaped: isUnsent)
                RETURNING c.activity_key, c.revision, c.merged_into
            )
            \(unescaped: EventRows.merge(from: "merged"))
            """,
        ]
    }

    /// The revisions of an activity that one of its segments has jumped over: those between two revisions. It has sent the
    /// second.
    struct Jump: Sendable {
        let activityKey: Int64
        let after: Revision
        let into: Revision
    }

    /// The same as ``merge(under:after:before:into:)`` for segments of one number, one for each activity, in the order of
    /// their keys.
    static func merge(_ jumps: [Jump], on segment: Int16) -> [Query] {
        guard !jumps.isEmpty else { return [] }
        let (keys, after, into) = (jumps.map(\.activityKey), jumps.map(\.after), jumps.map(\.into))
        return [
            """
            SELECT FROM changes AS c JOIN unnest(\(keys), \(after), \(into)) AS u(activity_key, begun, newer)
                ON \(unescaped: Query.byKey("c", "u", "activity_key")) AND c.revision > u.begun AND c.revision <= u.newer
            WHERE \(unescaped: isUnsent)
            ORDER BY c.activity_key, c.revision FOR NO KEY UPDATE OF c
            """,
            """
            WITH merged AS (
                UPDATE changes AS c
                SET merged_into = (
                    SELECT min(n.revision) FROM changes AS n
                    WHERE n.activity_key = c.activity_key AND n.revision > c.revision AND n.revision <= u.newer
                      AND (\(unescaped: SentChange.isSent("n")) OR n.revision = u.newer)
                )
                FROM unnest(\(keys), \(after), \(into)) AS u(activity_key, begun, newer)
                WHERE \(unescaped: Query.byKey("c", "u", "activity_key")) AND c.revision > u.begun AND c.revision < u.newer
                  AND c.revision < (
                      SELECT coalesce(min(coalesce(o.lap_revision, o.completed_revision + 1)), u.newer) FROM segments AS o
                      WHERE o.activity_key = u.activity_key AND o.segment <> \(segment)
                  ) AND \(unescaped: isUnsent)
                RETURNING c.activity_key, c.revision, c.merged_into
            )
            \(unescaped: EventRows.merge(from: "merged"))
            """,
        ]
    }

    /// An SQL condition: the change `c`, which was jumped over, is not on record as sent or as merged.
    static let isUnsent = "(c.merged_into IS NULL AND NOT \(SentChange.isSent("c")))"

    /// The statement that records that some of a change was sent.
    ///
    /// If a ring has jumped over it in the meantime, it was not merged after all.
    package static func markSent(_ revision: Revision, of key: Int64) -> Query {
        """
        UPDATE changes SET is_sent = true, merged_into = NULL
        WHERE activity_key = \(key) AND revision = \(revision) AND NOT is_sent
        """
    }

    /// The same for changes of several activities, in the order of their keys. It belongs before the statement that
    /// stores how far their segments have come, because everybody locks changes first.
    static func markSent(_ revisions: [Revision], of keys: [Int64]) -> Query {
        """
        UPDATE changes AS c SET is_sent = true, merged_into = NULL
        FROM unnest(\(keys), \(revisions)) AS u(activity_key, revision)
        WHERE c.activity_key = u.activity_key AND c.revision = u.revision AND c.activity_key = ANY(\(keys))
          AND NOT c.is_sent
        """
    }

    /// The statements for a walk on which nobody was reached: what it has passed, or jumped over, is merged into what
    /// somebody else was sent.
    package static func passed(_ carousel: Carousel, under lease: SegmentLease) -> [Query] {
        let merges = merge(under: lease, after: carousel.sent, before: carousel.upcoming, into: nil)
        guard lease.isFirstRing, !merges.isEmpty else { return merges }
        return [
            """
            UPDATE changes SET sent_with_ring = false
            WHERE activity_key = \(lease.activityKey) AND revision > \(carousel.sent)
              AND revision < \(carousel.upcoming) AND sent_with_ring
            """
        ] + merges
    }

    /// Turns a walk to the activity's next revision, if there is one and nothing holds the walk back. Also gives what
    /// to store when somebody was reached: the revisions that the walk jumped over.
    package static func turned(
        _ stored: Carousel,
        to activity: ActivitySnapshot,
        under lease: SegmentLease
    ) -> (Carousel, [Query]) {
        var carousel = stored
        let isHeld = activity.isBarrierBegun && stored.lap != nil && activity.state != .ended
        if !isHeld, activity.hold == nil { carousel.turn(to: activity.target, alert: activity.newAlert) }
        let revision = carousel.begun
        return (carousel, merge(under: lease, after: carousel.sent, before: revision, into: revision))
    }

    /// The statement that keeps an activity live, and its newest revision, until the transaction ends. It returns that
    /// revision, and whether a change may still leave under its stamp: a send later than 30 s after it takes a fresh one
    /// (promise 3).
    package static func holdLive(_ key: Int64, sending change: ChangeToSend) -> Query {
        """
        SELECT a.revision, EXISTS (
            SELECT FROM changes AS c
            WHERE c.activity_key = a.activity_key AND c.revision = \(change.revision)
              AND c.timestamp = \(change.timestamp)
              AND clock_timestamp() - c.stamped_at <= \(Duration.seconds(Stamping.maximumAge)))
        FROM activities AS a WHERE a.activity_key = \(key) AND a.state = 'live' FOR SHARE
        """
    }

    /// The state that a change brought; nil if there is no such change.
    package static func content(
        of revision: Revision,
        in key: Int64,
        on connection: PostgresConnection
    ) async throws -> CompactJSON? {
        let rows = try await connection.query(
            "SELECT content_state::text FROM changes WHERE activity_key = \(key) AND revision = \(revision)"
        )
        return try rows.single(String.self).map { CompactJSON(stored: Array($0.utf8)) }
    }

    /// The must-deliver changes after one revision and up to another, the oldest first.
    package func barriers(_ key: Int64, after revision: Revision, upTo newest: Revision) async throws -> [Revision] {
        let rows = try await database.query(
            """
            SELECT revision FROM changes
            WHERE activity_key = \(key) AND must_deliver AND revision > \(revision) AND revision <= \(newest)
            ORDER BY revision
            """
        )
        return try rows.decoded(as: Int64.self)
    }

    /// The newest alert of the changes after one revision and up to another.
    package func newestAlert(
        _ key: Int64,
        after heard: Revision,
        upTo revision: Revision
    ) async throws -> OwedAlert? {
        try await Self.newestAlert(key, after: heard, upTo: revision) { try await database.query($0) }
    }

    /// The same by way of `query`, which may be a transaction's.
    package static func newestAlert(
        _ key: Int64,
        after heard: Revision,
        upTo revision: Revision,
        on query: (Query) async throws -> Rows
    ) async throws -> OwedAlert? {
        let rows = try await query(
            """
            SELECT revision, alert::text FROM changes
            WHERE activity_key = \(key) AND revision > \(heard) AND revision <= \(revision) AND alert IS NOT NULL
            ORDER BY revision DESC LIMIT 1
            """
        )
        guard let (revision, text) = try rows.first(as: (Int64, String).self) else { return nil }
        return OwedAlert(revision: revision, content: try AlertContent.stored(text))
    }

    /// The alert that a change brought.
    package func alert(_ key: Int64, revision: Revision) async throws -> AlertContent? {
        let rows = try await database.query(
            "SELECT alert::text FROM changes WHERE activity_key = \(key) AND revision = \(revision)"
        )
        guard let text = try rows.single(String?.self) ?? nil else { return nil }
        return try AlertContent.stored(text)
    }

    /// The alert of starts that leave now.
    package func startAlert(_ key: Int64) async throws -> AlertContent? {
        let rows = try await database.query(
            """
            SELECT coalesce(a.start_alert, c.alert)::text
            FROM activities AS a JOIN changes AS c ON c.activity_key = a.activity_key AND c.revision = 1
            WHERE a.activity_key = \(key)
            """
        )
        guard let text = try rows.single(String?.self) ?? nil else { return nil }
        return try AlertContent.stored(text)
    }

    private struct StoredChange {
        let timestamp: Timestamp?
        /// Seconds since the stamp was given.
        let age: Double
        /// Whether its stamp is above those of all older changes.
        let isInOrder: Bool
        /// The highest stamp of the activity.
        let lastStamp: Timestamp
        /// The database's clock.
        let now: Timestamp
        /// The change, whatever its stamp will be.
        let unstamped: ChangeToSend

        var kind: ChangeKind { unstamped.kind }

        func change(_ timestamp: Timestamp) -> ChangeToSend {
            var change = unstamped
            change.timestamp = timestamp
            return change
        }

        init(_ row: Row) throws {
            timestamp = try row["timestamp"]
            age = try row["age"]
            isInOrder = try row["is_in_order"]
            lastStamp = try row["stamp"]
            let readAt: PGTimestamp = try row["now"]
            now = readAt.microseconds / 1_000_000
            let content: String = try row["content_state"]
            let alert: String? = try row["alert"]
            let standing: Duration = try row["standing"]
            unstamped = ChangeToSend(
                revision: try row["revision"],
                kind: try .stored(row["kind"]),
                contentState: CompactJSON(stored: Array(content.utf8)),
                alert: try alert.map(AlertContent.stored),
                urgency: try .stored(row["urgency"]),
                mustDeliver: try row["must_deliver"],
                timestamp: timestamp ?? 0,
                hints: try CardHints(in: row, from: 21),
                dismissAfterSeconds: try row["dismiss_after_seconds"],
                dismissAt: try row["dismiss_at"],
                acceptedAt: .now - standing,
                priorities: try ChangeStore.priorities(row),
                readAt: readAt,
                origin: RequestOrigin(stored: try row["request_id"], try row["traceparent"]),
                isSent: try row["is_sent"]
            )
        }

        /// Nil if it must be stamped before it leaves.
        var changeUnderItsStamp: ChangeToSend? {
            guard let timestamp, !Stamping.needsFreshStamp(age: age), isInOrder else { return nil }
            return change(timestamp)
        }
    }

    /// The statement whose rows ``newest(_:)`` reads: the newest change of an activity.
    static func newest(of key: Int64) -> Query {
        "\(unescaped: columns) WHERE a.activity_key = \(key) AND c.revision = a.revision"
    }

    /// The change in the rows of a ``newest(of:)``, if it may leave under its stamp. Otherwise
    /// ``stamped(_:under:anew:)`` gives it one.
    static func newest(_ rows: Rows) throws -> ChangeToSend? { try read(rows)?.changeUnderItsStamp }

    private static func selection(_ key: Int64, _ revision: Revision) -> Query {
        "\(unescaped: columns) WHERE c.activity_key = \(key) AND c.revision = \(revision)"
    }

    /// The columns of a ``StoredChange``.
    private static let columns = """
        SELECT c.revision, c.kind::text, c.content_state::text, c.alert::text, c.urgency::text, c.must_deliver,
               c.dismiss_after_seconds, extract(epoch FROM c.dismiss_at)::bigint AS dismiss_at,
               clock_timestamp() - c.accepted_at AS standing, c.timestamp,
               coalesce(extract(epoch FROM clock_timestamp() - c.stamped_at), 0)::float8 AS age,
               clock_timestamp() AS now, coalesce(\(isInOrder), false) AS is_in_order, a.stamp, given.classes,
               given.priorities, given.reasons, given.ages, c.request_id, c.traceparent, \(SentChange.isSent("c")) AS is_sent,
               \(CardHints.columns)
        FROM changes AS c JOIN activities AS a USING (activity_key)
        CROSS JOIN LATERAL (
            SELECT coalesce(array_agg(b.class::text), '{}') AS classes, coalesce(array_agg(b.priority), '{}') AS priorities,
                   coalesce(array_agg(b.reason), '{}') AS reasons,
                   coalesce(array_agg(\(BudgetLedger.age)), '{}') AS ages
            FROM budget_ledger AS b WHERE b.activity_key = c.activity_key AND b.revision = c.revision
        ) AS given
        """

    private static func read(_ rows: Rows) throws -> StoredChange? { try rows.first.map { try StoredChange($0) } }

    private static func priorities(_ row: Row) throws -> [BudgetClass: GivenPriority] {
        let classes: [String] = try row["classes"]
        let given: [Int16] = try row["priorities"]
        let reasons: [String] = try row["reasons"]
        let ages: [Double] = try row["ages"]
        var priorities: [BudgetClass: GivenPriority] = [:]
        for (index, name) in classes.enumerated() {
            priorities[try .stored(name)] = GivenPriority(
                stored: given[index],
                reasons[index],
                age: ages[index]
            )
        }
        return priorities
    }
}

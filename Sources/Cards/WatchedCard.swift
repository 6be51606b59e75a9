import APITypes
package import ActivityModel
package import Postgres
package import Store

/// A card for which time gives something to do.
package struct WatchedCard: Sendable {
    package let activityKey: Int64
    package let deviceKey: Int64
    package let watch: CardWatch
    /// Microseconds since its start; of one that has not begun, since its last report.
    package let age: Int64
    /// The token for ordinary pushes to its device; nil: none to which they may go.
    package let deviceToken: PushToken?
    package let app: BundleID
    package let environment: APNSEnvironment
    package let activityID: ActivityID
    package let typeName: ActivityTypeName
    package let policy: Policy

    package var key: CardKey { CardKey(activityKey: activityKey, deviceKey: deviceKey) }

    /// Whether it is old enough for a new card to continue it.
    package var isToHandOver: Bool {
        var watch = self.watch
        return watch.actions(at: age, policy, canWake: false).contains(.handOver)
    }

    /// The decision about one card.
    package struct Checked: Sendable {
        let card: WatchedCard
        let watch: CardWatch
        let isExpired: Bool
        /// When it is checked next; nil: never.
        let next: Next?

        package init(card: WatchedCard, watch: CardWatch, isExpired: Bool, next: Next?) {
            self.card = card
            self.watch = watch
            self.isExpired = isExpired
            self.next = next
        }
    }

    /// When a card is checked next.
    package enum Next: Sendable {
        /// At an age, in microseconds.
        case atAge(Int64)
        /// A while from now.
        case after(Duration)

        fileprivate var age: Int64? {
            guard case .atAge(let age) = self else { return nil }
            return age
        }

        fileprivate var pause: Duration? {
            guard case .after(let pause) = self else { return nil }
            return pause
        }
    }
}

extension WatchedCard {
    /// Locks and reads those that are due; what another daemon has locked is left out.
    package static func due(limit: Int, on connection: PostgresConnection) async throws -> [WatchedCard] {
        let rows = try await connection.query(
            """
            SELECT s.activity_key, s.device_key, s.state = 'waiting_for_token' AS is_waiting, s.woken, s.overdue,
                   s.pending_since IS NOT NULL AS is_pending,
                   (extract(epoch FROM clock_timestamp() - s.started_at) * 1000000)::int8 AS age,
                   \(unescaped: UsableToken.ofDevice) AS device_token,
                   a.bundle_id, a.environment::text, a.activity_id, a.type_name,
                   \(unescaped: Continuations.mayBegin("s")) AS is_continuable
            FROM subscriptions AS s JOIN activities AS a USING (activity_key) JOIN devices AS d USING (device_key)
            WHERE s.check_at <= now()
            ORDER BY s.check_at LIMIT \(limit)
            FOR NO KEY UPDATE OF s SKIP LOCKED
            """
        )
        let types = try rows.map { try TypeKey($0) }
        let policies = try await policies(of: Set(types), on: connection)
        // A foreign key holds the type of every activity.
        return try zip(rows, types).map { row, type in try WatchedCard(row, policies[type] ?? Policy()) }
    }

    private init(_ row: Row, _ policy: Policy) throws {
        activityKey = try row["activity_key"]
        deviceKey = try row["device_key"]
        watch = CardWatch(
            isWaiting: try row["is_waiting"],
            isWoken: try row["woken"],
            isOverdue: try row["overdue"],
            isContinuable: try row["is_continuable"],
            isPending: try row["is_pending"]
        )
        age = try row["age"]
        deviceToken = try (row["device_token"] as [UInt8]?).flatMap(PushToken.init(bytes:))
        app = BundleID(stored: try row["bundle_id"])
        environment = try .stored(row["environment"])
        activityID = ActivityID(stored: try row["activity_id"])
        typeName = ActivityTypeName(stored: try row["type_name"])
        self.policy = policy
    }

    private struct TypeKey: Hashable {
        let app: String
        let name: String

        init(_ row: Row) throws {
            app = try row["bundle_id"]
            name = try row["type_name"]
        }
    }

    private static func policies(
        of types: Set<TypeKey>,
        on connection: PostgresConnection
    ) async throws -> [TypeKey: Policy] {
        let types = Array(types)
        let rows = try await connection.query(
            """
            SELECT t.bundle_id, t.type_name, t.policy::text
            FROM activity_types AS t
            JOIN unnest(\(types.map(\.app)), \(types.map(\.name))) AS r(bundle_id, type_name) USING (bundle_id, type_name)
            """
        )
        var policies: [TypeKey: Policy] = [:]
        for row in rows { try policies[TypeKey(row)] = Policy.stored(row["policy"]) }
        return policies
    }

    /// The statement that records what was decided. A token that is known to be dead stays so. A wake-up is recorded
    /// once its outcome is known (``woken(_:)``).
    package static func store(_ checked: [Checked]) -> Query {
        """
        UPDATE subscriptions AS s
        SET overdue = r.overdue,
            check_at = CASE WHEN s.state NOT IN ('over', 'dead')
                THEN coalesce(clock_timestamp() + r.pause, s.started_at + r.next_age * interval '1 microsecond') END,
            state = CASE WHEN r.is_expired AND s.state <> 'dead' THEN 'over' ELSE s.state END,
            reason = CASE WHEN r.is_expired AND s.state NOT IN ('over', 'dead')
                THEN '\(unescaped: OverReason.expired.rawValue)' ELSE s.reason END,
            known_revision = CASE WHEN r.is_expired THEN \(unescaped: SegmentRows.sentToCard) ELSE s.known_revision END,
            due_at = CASE WHEN NOT r.is_expired THEN s.due_at END
        FROM unnest(
            \(checked.map(\.card.activityKey)), \(checked.map(\.card.deviceKey)), \(checked.map(\.watch.isOverdue)),
            \(checked.map(\.isExpired)), \(checked.map { $0.next?.age }), \(checked.map { $0.next?.pause })
        ) AS r(activity_key, device_key, overdue, is_expired, next_age, pause)
        WHERE s.activity_key = r.activity_key AND s.device_key = r.device_key
        """
    }

    /// The statement that records that the apps of cards which still wait were woken, so that each is checked when time
    /// gives something else to do.
    package static func woken(_ cards: [WatchedCard]) -> Query {
        let ages = cards.map { card in
            var watch = card.watch
            _ = watch.actions(at: card.age, card.policy, canWake: true)
            return watch.nextAge(after: card.age, card.policy)
        }
        return """
            UPDATE subscriptions AS s
            SET woken = true, check_at = s.started_at + r.next_age * interval '1 microsecond'
            FROM unnest(\(cards.map(\.activityKey)), \(cards.map(\.deviceKey)), \(ages))
                AS r(activity_key, device_key, next_age)
            WHERE s.activity_key = r.activity_key AND s.device_key = r.device_key AND s.state = 'waiting_for_token'
            """
    }

    /// The statement that lets the apps of cards be woken after a while, because certainly no push has left.
    package static func notWoken(_ cards: [WatchedCard], again pause: Duration) -> Query {
        """
        UPDATE subscriptions AS s SET check_at = clock_timestamp() + \(pause)
        FROM unnest(\(cards.map(\.activityKey)), \(cards.map(\.deviceKey))) AS r(activity_key, device_key)
        WHERE s.activity_key = r.activity_key AND s.device_key = r.device_key AND s.state = 'waiting_for_token'
        """
    }

    /// The condition that the 8 hours of the subscription `s` are over. They count from when the card begins.
    package static let isExpired = """
        (s.pending_since IS NULL AND s.started_at <= clock_timestamp() - interval '\(CardWatch.lifetimeSeconds) seconds')
        """
}

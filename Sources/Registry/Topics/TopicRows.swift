package import ActivityModel
package import Postgres
import Store

/// The rows of `topic_follows`.
package enum TopicRows {
    /// Who follows.
    package enum Follower: Sendable {
        case user(UserID)
        case device(key: Int64)
    }

    /// The statement that reads the topics of a follower, in the order of their names.
    package static func selection(of follower: Follower, in app: BundleID) -> Query {
        switch follower {
        case .user(let user):
            // The order belongs to one index alone. Another one has the followers of all topics of the app.
            """
            SELECT topic FROM topic_follows
            WHERE bundle_id = \(app.rawValue) AND user_id >= \(user.rawValue) AND user_id <= \(user.rawValue)
            ORDER BY user_id, topic
            """
        case .device(let key):
            "SELECT topic FROM topic_follows WHERE device_key = \(key) ORDER BY topic"
        }
    }

    /// The statements that store a change.
    static func statements(_ change: TopicChange, of follower: Follower, in app: BundleID) -> [Query] {
        switch follower {
        case .user(let user): statements(change, ofUser: user, in: app)
        case .device(let key):
            statements(
                removed: [OfDevice(app: app, deviceKey: key, topics: TopicList(change.removed))],
                added: [OfDevice(app: app, deviceKey: key, topics: TopicList(change.added))]
            )
        }
    }

    // MARK: Users

    private static func statements(_ change: TopicChange, ofUser user: UserID, in app: BundleID) -> [Query] {
        let (added, removed) = (change.added.map(\.rawValue), change.removed.map(\.rawValue))
        var statements: [Query] = []
        if !removed.isEmpty {
            statements.append(
                """
                DELETE FROM topic_follows
                WHERE bundle_id = \(app.rawValue) AND user_id >= \(user.rawValue) AND user_id <= \(user.rawValue)
                  AND topic = ANY(\(removed))
                """
            )
        }
        if !added.isEmpty {
            statements.append(
                """
                INSERT INTO topic_follows (bundle_id, topic, user_id)
                SELECT \(app.rawValue), topic, \(user.rawValue) FROM unnest(\(added)) AS n(topic)
                """
            )
        }
        return statements
    }

    /// The statement that forgets the topics of a user.
    package static func erasure(of user: UserID, in app: BundleID) -> Query {
        """
        DELETE FROM topic_follows
        WHERE bundle_id = \(app.rawValue) AND user_id >= \(user.rawValue) AND user_id <= \(user.rawValue)
        """
    }

    // MARK: Devices

    /// Topics of a device that exists, and is locked.
    struct OfDevice: Sendable {
        let app: BundleID
        let deviceKey: Int64
        let topics: TopicList
    }

    /// The statement that compares what devices follow with what they are to follow. It gives the keys of those for which
    /// this differs, and the ``TopicList`` of each.
    static func differing(from wanted: [OfDevice]) -> Query {
        """
        SELECT r.device_key, f.topics
        FROM unnest(\(wanted.map(\.deviceKey)), \(wanted.map(\.topics.text))) AS r(device_key, topics)
        CROSS JOIN LATERAL (
            SELECT coalesce(string_agg(topic, '\n' ORDER BY topic COLLATE "C"), '') AS topics
            FROM topic_follows WHERE topic_follows.device_key = r.device_key
        ) AS f
        WHERE f.topics <> r.topics
        """
    }

    /// The statements that store changes of many devices.
    static func statements(removed: [OfDevice], added: [OfDevice]) -> [Query] {
        let removed = removed.filter { !$0.topics.isEmpty }
        let added = added.filter { !$0.topics.isEmpty }
        return (removed.isEmpty ? [] : [deletion(removed)]) + (added.isEmpty ? [] : [insertion(added)])
    }

    /// By the places of rows: they cannot move, and a join might read all follows of all these devices for each topic.
    private static func deletion(_ removed: [OfDevice]) -> Query {
        """
        DELETE FROM topic_follows WHERE ctid = ANY(ARRAY(
            SELECT f.ctid
            FROM unnest(\(removed.map(\.deviceKey)), \(removed.map(\.topics.text))) AS r(device_key, topics)
            CROSS JOIN LATERAL string_to_table(r.topics, '\n') AS t(topic)
            CROSS JOIN LATERAL (
                SELECT ctid FROM topic_follows
                WHERE topic_follows.device_key = r.device_key AND topic_follows.topic = t.topic OFFSET 0
            ) AS f
        ))
        """
    }

    private static func insertion(_ added: [OfDevice]) -> Query {
        """
        INSERT INTO topic_follows (bundle_id, topic, device_key)
        SELECT r.bundle_id, t.topic, r.device_key
        FROM unnest(
            \(added.map(\.app.rawValue)), \(added.map(\.deviceKey)), \(added.map(\.topics.text))
        ) AS r(bundle_id, device_key, topics)
        CROSS JOIN LATERAL string_to_table(r.topics, '\n') AS t(topic)
        """
    }

    // MARK: Cards

    /// Devices whose topics have changed in the same way: one, or several of a user.
    struct Changed: Sendable {
        let deviceKeys: [Int64]
        let added: [Topic]
        let removed: [Topic]

        init(deviceKeys: [Int64], added: [Topic], removed: [Topic]) {
            (self.deviceKeys, self.added, self.removed) = (deviceKeys, added, removed)
        }

        init(deviceKeys: [Int64], change: TopicChange) {
            self.init(deviceKeys: deviceKeys, added: change.added, removed: change.removed)
        }

        var isNone: Bool { deviceKeys.isEmpty || (added.isEmpty && removed.isEmpty) }
    }

    /// Runs the statements that store changes of topics. Then ends the cards of devices that a change takes out of an
    /// audience, if the policy wants that.
    static func endCards(
        of changed: [Changed],
        after statements: [Query] = [],
        _ activities: any ActivityKeeper,
        on connection: PostgresConnection
    ) async throws {
        let changed = changed.filter { !$0.isNone }
        guard !changed.isEmpty else {
            if !statements.isEmpty { _ = try await connection.pipeline(statements) }
            return
        }
        let look = [claimedStarts(of: changed.flatMap(\.deviceKeys)), cardsToEnd(of: changed)]
        let queries: [Query] = [.planningOnce] + statements + look
        guard let found = try await connection.pipeline(queries).last else { return }
        let cards = try found.decoded(as: (Int64, Int64).self).map { CardKey(activityKey: $0, deviceKey: $1) }
        guard !cards.isEmpty else { return }
        try await activities.endCards(cards, on: connection)
    }

    /// The statement that waits for answers to starts of devices which are being stored at this moment. Then the cards that
    /// they made can be seen. Answers that are stored later see the change. No card of another policy ends, so no answer to
    /// its start is waited for.
    private static func claimedStarts(of deviceKeys: [Int64]) -> Query {
        """
        SELECT s.device_key FROM unnest(\(deviceKeys)) AS k(device_key)
        CROSS JOIN LATERAL (
            SELECT activity_key, device_key FROM starts
            WHERE starts.device_key = k.device_key AND state = 'claimed' OFFSET 0
        ) AS o
        JOIN activities AS a ON \(unescaped: Query.byKey("a", "o", "activity_key"))
        JOIN activity_types AS p ON p.bundle_id = a.bundle_id AND p.type_name = a.type_name
        JOIN starts AS s ON \(unescaped: Query.byKey("s", "o", "activity_key", "device_key"))
        WHERE \(unescaped: StoredPolicy.endsOnUnfollow("p"))
        ORDER BY s.activity_key, s.device_key FOR NO KEY UPDATE OF s
        """
    }

    /// The statement that finds the cards which changes of topics end by policy. They are cards of these devices in
    /// activities with a topic of the change, and the audience no longer covers them. Run it after the changes are
    /// stored.
    private static func cardsToEnd(of changed: [Changed]) -> Query {
        let places = changed.enumerated().flatMap { place, one in one.deviceKeys.map { _ in Int64(place + 1) } }
        return """
            SELECT s.activity_key, s.device_key
            FROM unnest(\(changed.flatMap(\.deviceKeys)), \(places)) AS k(device_key, place)
            CROSS JOIN LATERAL (
                SELECT activity_key, device_key FROM subscriptions
                WHERE subscriptions.device_key = k.device_key AND state <> 'over' AND NOT leaving OFFSET 0
            ) AS s
            CROSS JOIN LATERAL (
                SELECT string_to_array((\(changed.map { TopicList($0.added).text }))[k.place], '\n') AS added,
                       string_to_array((\(changed.map { TopicList($0.removed).text }))[k.place], '\n') AS removed
                OFFSET 0
            ) AS c
            CROSS JOIN LATERAL (SELECT * FROM devices WHERE device_key = s.device_key OFFSET 0) AS d
            CROSS JOIN LATERAL (SELECT * FROM activities WHERE activity_key = s.activity_key OFFSET 0) AS a
            JOIN activity_types AS p ON p.bundle_id = a.bundle_id AND p.type_name = a.type_name
            WHERE a.state = 'live' AND \(unescaped: StoredPolicy.endsOnUnfollow("p"))
              AND EXISTS (
                  SELECT FROM audience_topics AS m
                  WHERE m.activity_key = a.activity_key
                    AND (m.topic = ANY(c.removed) OR m.topics_all && c.removed OR m.except_topics && c.added) OFFSET 0)
              AND NOT \(unescaped: AudienceCoverage.condition)
            ORDER BY s.activity_key, s.device_key
            """
    }
}

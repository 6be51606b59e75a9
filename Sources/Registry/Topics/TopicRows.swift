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

    /// The statement that reads the topics of devices.
    static func selection(ofDevices keys: [Int64]) -> Query {
        """
        SELECT k.device_key, f.topic FROM unnest(\(keys)) AS k(device_key)
        CROSS JOIN LATERAL (SELECT topic FROM topic_follows WHERE device_key = k.device_key OFFSET 0) AS f
        """
    }

    /// The statements that store a change.
    static func statements(_ change: TopicChange, of follower: Follower, in app: BundleID) -> [Query] {
        let (added, removed) = (change.added.map(\.rawValue), change.removed.map(\.rawValue))
        var statements: [Query] = []
        switch follower {
        case .user(let user):
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
        case .device(let key):
            if !removed.isEmpty {
                statements.append(
                    "DELETE FROM topic_follows WHERE device_key = \(key) AND topic = ANY(\(removed))"
                )
            }
            if !added.isEmpty {
                let new = added.map { New(app: app.rawValue, device: key, topic: $0) }
                statements.append(insertion(new))
            }
        }
        return statements
    }

    /// A topic that a device follows from now on.
    struct New: Sendable {
        let app: String
        let device: Int64
        let topic: String
    }

    static func insertion(_ new: [New]) -> Query {
        """
        INSERT INTO topic_follows (bundle_id, topic, device_key)
        SELECT * FROM unnest(\(new.map(\.app)), \(new.map(\.topic)), \(new.map(\.device)))
        """
    }

    /// The statement that forgets the topics of a user.
    static func erasure(of user: UserID, in app: BundleID) -> Query {
        """
        DELETE FROM topic_follows
        WHERE bundle_id = \(app.rawValue) AND user_id >= \(user.rawValue) AND user_id <= \(user.rawValue)
        """
    }

    /// The statement that waits for answers to starts of devices which are being stored at this moment. Then the cards that
    /// they made can be seen. Answers that are stored later see the change.
    static func claimedStarts(of deviceKeys: [Int64]) -> Query {
        """
        SELECT s.device_key FROM unnest(\(deviceKeys)) AS k(device_key)
        CROSS JOIN LATERAL (
            SELECT activity_key, device_key FROM starts
            WHERE starts.device_key = k.device_key AND state = 'claimed' OFFSET 0
        ) AS o
        JOIN starts AS s ON \(unescaped: Query.byKey("s", "o", "activity_key", "device_key"))
        ORDER BY s.activity_key, s.device_key FOR NO KEY UPDATE OF s
        """
    }

    /// The statement that finds the cards which a change of topics ends by policy. They are cards of these devices in
    /// activities with a topic of the change, and the audience no longer covers them. Run it after the change is
    /// stored.
    static func cardsToEnd(of deviceKeys: [Int64], _ change: TopicChange) -> Query {
        let (added, removed) = (change.added.map(\.rawValue), change.removed.map(\.rawValue))
        return """
            SELECT s.activity_key, s.device_key FROM unnest(\(deviceKeys)) AS k(device_key)
            CROSS JOIN LATERAL (
                SELECT activity_key, device_key FROM subscriptions
                WHERE subscriptions.device_key = k.device_key AND state <> 'over' AND NOT leaving OFFSET 0
            ) AS s
            JOIN devices AS d ON \(unescaped: Query.byKey("d", "s", "device_key"))
            JOIN activities AS a ON \(unescaped: Query.byKey("a", "s", "activity_key"))
            JOIN activity_types AS p ON p.bundle_id = a.bundle_id AND p.type_name = a.type_name
            WHERE a.state = 'live' AND \(unescaped: StoredJSON.text(at: "{on_unfollow}", of: "p.policy")) = 'end'
              AND EXISTS (
                  SELECT FROM audience_topics AS m
                  WHERE m.activity_key = a.activity_key
                    AND (m.topic = ANY(\(removed)) OR m.topics_all && \(removed) OR m.except_topics && \(added)) OFFSET 0)
              AND NOT \(unescaped: AudienceCoverage.condition)
            ORDER BY s.activity_key, s.device_key
            """
    }

    /// Ends the cards of devices that a change of topics takes out of an audience, if the policy wants that.
    static func endCards(
        of deviceKeys: [Int64],
        _ change: TopicChange,
        _ activities: any ActivityKeeper,
        on connection: PostgresConnection
    ) async throws {
        guard !change.isNone, !deviceKeys.isEmpty else { return }
        let found = try await connection.pipeline([
            .planningOnce, claimedStarts(of: deviceKeys), cardsToEnd(of: deviceKeys, change),
        ])[2]
        let cards = try found.decoded(as: (Int64, Int64).self).map { CardKey(activityKey: $0, deviceKey: $1) }
        guard !cards.isEmpty else { return }
        try await activities.endCards(cards, on: connection)
    }
}

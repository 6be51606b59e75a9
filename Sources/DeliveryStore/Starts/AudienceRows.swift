package import APITypes
package import ActivityModel
import Cards
package import Postgres
import Store

/// The rows of `audience_members`.
package enum AudienceRows {
    /// Whom an activity is to have in its audience from now on.
    package struct Addition {
        let activityKey: Int64
        let app: BundleID
        let audience: Audience

        package init(activityKey: Int64, app: BundleID, audience: Audience) {
            self.activityKey = activityKey
            self.app = app
            self.audience = audience
        }
    }

    /// The statements that add to audiences.
    package static func insertion(_ additions: [Addition]) -> [Query] {
        members(additions) + additions.filter { !$0.audience.topics.isEmpty }.map(topics)
    }

    /// The conditions of a topic replace its earlier conditions, and its followers are enrolled again.
    private static func topics(_ addition: Addition) -> Query {
        let audience = addition.audience
        return """
            INSERT INTO audience_topics AS m (activity_key, topic, bundle_id, topics_all, except_topics)
            SELECT DISTINCT \(addition.activityKey), n.topic, \(addition.app.rawValue), \(Self.sorted(audience.topicsAll)),
                \(Self.sorted(audience.exceptTopics))
            FROM unnest(\(audience.topics.map(\.rawValue))) AS n(topic)
            ON CONFLICT (activity_key, topic) DO UPDATE
            SET topics_all = EXCLUDED.topics_all, except_topics = EXCLUDED.except_topics, rule_key = DEFAULT
            WHERE m.topics_all <> EXCLUDED.topics_all OR m.except_topics <> EXCLUDED.except_topics
            """
    }

    private static func sorted(_ topics: [Topic]) -> [String] { Set(topics.map(\.rawValue)).sorted() }

    private static func members(_ additions: [Addition]) -> [Query] {
        var ids: [String] = []
        var kinds: [String] = []
        var keys: [Int64] = []
        var apps: [String] = []
        for addition in additions {
            for (kind, members) in named(addition.audience) {
                ids += members
                kinds += Array(repeating: kind, count: members.count)
                keys += Array(repeating: addition.activityKey, count: members.count)
                apps += Array(repeating: addition.app.rawValue, count: members.count)
            }
        }
        guard let key = keys.first, let kind = kinds.first, let app = apps.first else { return [] }
        return [
            """
            INSERT INTO audience_members (activity_key, kind, member_id, bundle_id)
            SELECT u.activity_key, u.kind, u.member_id, u.bundle_id
            FROM \(rows: [
                .each("member_id", ids),
                .usually(kind, "kind", kinds),
                .usually(key, "activity_key", keys),
                .usually(app, "bundle_id", apps),
            ]) AS u
            ON CONFLICT DO NOTHING
            """
        ]
    }

    /// The statements that take members and topics out of an audience.
    package static func deletion(_ audience: Audience, activityKey: Int64) -> [Query] {
        let members: [Query] = named(audience).map { kind, members in
            """
            DELETE FROM audience_members
            WHERE activity_key = \(activityKey) AND kind = \(kind) AND member_id = ANY(\(members))
            """
        }
        guard !audience.topics.isEmpty else { return members }
        return members + [
            """
            DELETE FROM audience_topics
            WHERE activity_key = \(activityKey) AND topic = ANY(\(audience.topics.map(\.rawValue)))
            """
        ]
    }

    /// The statement that counts the topics of an audience.
    package static func topicCount(activityKey: Int64) -> Query {
        "SELECT count(*) FROM audience_topics WHERE activity_key = \(activityKey)"
    }

    /// The statement that makes the starts of removed members due at once, if the audience does not want them any more.
    /// ``StartTurn`` cancels them when they are due. A claimed start is on its way. A start without an answer has the
    /// time that its phone may take to report it, whatever is wanted meanwhile (promise 6). A start that is due is
    /// looked at anyway. If there are too many for now, each of the others is looked at when its time comes.
    package static func recall(_ removed: Audience, activityKey: Int64) -> Query {
        """
        WITH removed AS (
            SELECT d.device_key FROM activities AS a CROSS JOIN unnest(\(removed.devices.map(\.rawValue))) AS r(member_id)
            CROSS JOIN LATERAL (
                SELECT device_key FROM devices WHERE bundle_id = a.bundle_id AND device_id = r.member_id OFFSET 0
            ) AS d
            WHERE a.activity_key = \(activityKey)
            UNION
            SELECT d.device_key FROM activities AS a CROSS JOIN unnest(\(removed.users.map(\.rawValue))) AS r(member_id)
            CROSS JOIN LATERAL (
                SELECT device_key FROM devices WHERE bundle_id = a.bundle_id AND user_id = r.member_id OFFSET 0
            ) AS d
            WHERE a.activity_key = \(activityKey)
            UNION
            (SELECT device_key FROM starts
             WHERE \(removed.allOfType || !removed.topics.isEmpty) AND activity_key = \(activityKey) AND due_at > clock_timestamp()
             LIMIT \(recalledAtOnce))
        ), recalled AS MATERIALIZED (
            SELECT d.device_key FROM (SELECT device_key FROM removed ORDER BY device_key) AS r
            CROSS JOIN LATERAL (SELECT * FROM devices WHERE device_key = r.device_key OFFSET 0) AS d
            JOIN activities AS a ON a.activity_key = \(activityKey)
            CROSS JOIN LATERAL (
                SELECT FROM starts AS s
                WHERE s.activity_key = \(activityKey) AND s.device_key = d.device_key AND s.due_at > clock_timestamp()
                  AND s.state NOT IN ('claimed', 'unknown') AND NOT \(unescaped: AudienceCoverage.condition)
                FOR NO KEY UPDATE
            ) AS s
        )
        \(part: StartRows.makeDue("recalled", of: activityKey))
        """
    }

    /// Few enough not to hold back the changes that wait for the activity.
    private static let recalledAtOnce = 2_000

    /// The statement that forgets the audience of an activity that is over, in parts.
    package static func purge(activityKey: Int64) -> Query {
        """
        DELETE FROM audience_members
        WHERE ctid = ANY(ARRAY(
            SELECT ctid FROM audience_members WHERE activity_key = \(activityKey) LIMIT \(purgedAtOnce)
        ))
        RETURNING 1
        """
    }

    /// The statement that forgets the topics of an activity that is over. There are at most ``Topic/maximumCount``.
    package static func purgeTopics(activityKey: Int64) -> Query {
        "DELETE FROM audience_topics WHERE activity_key = \(activityKey)"
    }

    /// Few enough not to hold back the end that is sent at the same time.
    package static let purgedAtOnce = 2_000

    private static func named(_ audience: Audience) -> [(kind: String, members: [String])] {
        [("user", audience.users.map(\.rawValue)), ("device", audience.devices.map(\.rawValue))].filter { !$1.isEmpty }
    }
}

package import APITypes
package import ActivityModel
import Postgres
import Store

extension Record {
    /// The topics of an audience, and the users and devices that it names, in the order in which they were added. After
    /// the end the audience is deleted.
    ///
    /// - Throws: 404 for an unknown activity; 422 for a cursor of another list.
    package func audience(_ app: BundleID, _ id: ActivityID, _ page: PageRequest) async throws -> AudiencePage {
        let after = try page.position(in: .audience, Int64.self)
        return try await database.withConnection { connection in
            let activity = try await connection.query(
                """
                SELECT activity_key, audience_all FROM activities
                WHERE bundle_id = \(app.rawValue) AND activity_id = \(id.rawValue)
                """
            )
            guard let (key, allOfType) = try activity.first(as: (Int64, Bool).self) else {
                throw Problem.notFound("the activity")
            }
            let rows = try await connection.query(Self.members(of: key, after: after ?? 0, limit: page.limit + 1))
            let members = try rows.decoded(as: (Int64, String, String, Bool).self).map { key, kind, name, isKnown in
                let member = AudienceMember(
                    name: kind == "user" ? .user(UserID(stored: name)) : .device(DeviceID(stored: name)),
                    isKnown: isKnown
                )
                return (key: key, member: member)
            }
            let topics = try await connection.query(Self.topics(of: key)).decoded(as: (String, [String], [String]).self)
            let listed = Page<AudienceMember>.cut(members, of: .audience, limit: page.limit, item: \.member) {
                [String($0.key)]
            }
            return AudiencePage(
                allOfType: allOfType,
                topics: topics.map { topic, all, except in
                    AudienceTopic(
                        topic: Topic(stored: topic),
                        topicsAll: all.map { Topic(stored: $0) },
                        exceptTopics: except.map { Topic(stored: $0) }
                    )
                },
                items: listed.items,
                nextCursor: listed.nextCursor
            )
        }
    }

    private static func topics(of activityKey: Int64) -> Query {
        """
        SELECT topic, topics_all, except_topics FROM audience_topics
        WHERE activity_key = \(activityKey) ORDER BY rule_key
        """
    }

    private static func members(of activityKey: Int64, after key: Int64, limit: Int) -> Query {
        """
        SELECT m.member_key, m.kind, m.member_id,
               \(unescaped: AudienceCoverage.isRegistered("m.kind", "m.member_id", of: "m.bundle_id"))
        FROM (
            SELECT member_key, kind, member_id, bundle_id FROM audience_members
            WHERE activity_key = \(activityKey) AND member_key > \(key) ORDER BY member_key LIMIT \(limit)
        ) AS m
        ORDER BY m.member_key
        """
    }
}

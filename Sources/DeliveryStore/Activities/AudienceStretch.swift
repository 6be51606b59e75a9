import Postgres
import Store

/// A part of an audience for one short statement, however large the whole is. Members come in the order in which they
/// were named, then followers of its topics. If the audience is all, devices come in the order of their keys.
package struct AudienceStretch: Sendable {
    let activityKey: Int64
    /// The end of the stretch before.
    let after: Cursor
    /// Members at most, as many devices, and as many followers of one topic.
    let size: Int

    /// How far the stretches up to one have come.
    package struct Cursor: Sendable, Equatable {
        /// The key of the last member.
        var members: Int64 = 0
        /// The key of the last device; 0 or less: none yet.
        var devices: Int64 = 0
        /// The key of the topic whose followers are being read. Topics with smaller keys are done.
        var rule: Int64 = 0
        /// The key of the last follower of that topic.
        var follow: Int64 = 0
    }

    /// What an enrolment has made of a stretch.
    package struct Enrolled: Sendable {
        /// The place to go on from; nil if all of the audience has become starts.
        package let rest: Cursor?
        /// How many starts were made.
        package let starts: Int
    }

    /// The size of a stretch that was read.
    struct Extent: Sendable, Equatable {
        let end: Cursor
        /// Whether nothing follows it.
        let isLast: Bool
    }

    /// A statement that begins with these tables and continues with `rest`: `activity` (its row), `members`,
    /// `everybody` (device keys), `rule` (at most one topic) and `followers` (of that topic). Its result begins with
    /// ``extent``. Run it after ``Query/planningOnce``.
    ///
    /// The order of devices names the app, though it is the same for all. Only one index has that order. Another one
    /// would be read to its end for an app with few devices among many.
    func query(_ rest: String) -> Query {
        """
        WITH activity AS MATERIALIZED (
            SELECT activity_key, bundle_id, environment, type_name, state, audience_all FROM activities
            WHERE activity_key = \(activityKey)
        ), members AS MATERIALIZED (
            SELECT member_key, kind, member_id FROM audience_members
            WHERE activity_key = \(activityKey) AND member_key > \(after.members) ORDER BY member_key LIMIT \(size)
        ), everybody AS MATERIALIZED (
            SELECT d.device_key FROM activity AS a CROSS JOIN LATERAL (
                SELECT d.bundle_id, d.environment, d.device_key FROM devices AS d
                WHERE a.audience_all
                  AND (d.bundle_id, d.environment, d.device_key) > (a.bundle_id, a.environment, \(after.devices))
                ORDER BY d.bundle_id, d.environment, d.device_key LIMIT \(size)
            ) AS d
            WHERE d.bundle_id = a.bundle_id AND d.environment = a.environment
        ), rule AS MATERIALIZED (
            SELECT rule_key, topic, topics_all, except_topics FROM audience_topics
            WHERE activity_key = \(activityKey) AND rule_key >= \(after.rule) ORDER BY rule_key LIMIT 1
        ), followers AS MATERIALIZED (
            SELECT f.follow_key, f.user_id, f.device_key FROM activity AS a CROSS JOIN rule AS r CROSS JOIN LATERAL (
                SELECT f.bundle_id, f.topic, f.follow_key, f.user_id, f.device_key FROM topic_follows AS f
                WHERE (f.bundle_id, f.topic, f.follow_key)
                    > (a.bundle_id, r.topic, CASE r.rule_key WHEN \(after.rule) THEN \(after.follow) ELSE 0 END)
                ORDER BY f.bundle_id, f.topic, f.follow_key LIMIT \(size)
            ) AS f
            WHERE f.bundle_id = a.bundle_id AND f.topic = r.topic
        )\(unescaped: rest)
        """
    }

    /// The first columns of the result.
    static let extent = """
        (SELECT max(member_key) FROM members), (SELECT count(*) FROM members),
        (SELECT max(device_key) FROM everybody), (SELECT count(*) FROM everybody),
        (SELECT rule_key FROM rule), (SELECT max(follow_key) FROM followers), (SELECT count(*) FROM followers)
        """

    /// The devices of a follower `f` of the `activity` `a`.
    static let devicesOfFollower = """
        (SELECT device_key, device_id, user_id, environment FROM devices WHERE device_key = f.device_key
         UNION ALL
         SELECT device_key, device_id, user_id, environment FROM devices
         WHERE bundle_id = a.bundle_id AND user_id = f.user_id OFFSET 0)
        """

    /// The condition that nothing narrows the `rule` `r` of the `activity` `a` so that the device `d` does not belong to
    /// it.
    static let isWithinRule = TopicFollowing.isWithin(
        all: "r.topics_all",
        except: "r.except_topics",
        device: "d.device_key",
        user: "d.user_id",
        of: "a.bundle_id"
    )

    /// The condition that the audience is all and so reaches the device `d` of the `activity` `a`.
    static let isReachedWithAll = """
        (a.audience_all AND \(StartTokenState.isReported(device: "d.device_key", type: "a.type_name")))
        """

    /// The number of columns of ``extent``.
    static let extentColumns = 7

    /// Reads the columns of ``extent``.
    func extent(in row: Row) throws(PostgresError) -> Extent {
        let members = try row.decode(Int64?.self, at: 0)
        let devices = try row.decode(Int64?.self, at: 2)
        var end = Cursor(members: members ?? after.members, devices: devices ?? after.devices)
        (end.rule, end.follow) = (after.rule, after.follow)
        let rule = try row.decode(Int64?.self, at: 4)
        if let rule {
            let isWholeTopic = try row.decode(Int64.self, at: 6) < size
            // The next topic follows the last page of a topic.
            (end.rule, end.follow) = isWholeTopic ? (rule + 1, 0) : (rule, try row.decode(Int64?.self, at: 5) ?? 0)
        }
        let counts = (members: try row.decode(Int64.self, at: 1), devices: try row.decode(Int64.self, at: 3))
        return Extent(end: end, isLast: counts.members < size && counts.devices < size && rule == nil)
    }
}

extension AudienceStretch.Cursor {
    /// Reads the columns of an activity that say how far its audience has become starts.
    init(_ row: Row) throws(PostgresError) {
        members = try row["enrolled_members"]
        devices = try row["enrolled_devices"]
        rule = try row["enrolled_rule"]
        follow = try row["enrolled_follow"]
    }
}

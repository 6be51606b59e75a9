import ActivityModel
import Cards
package import Postgres
import Registry
package import Store

extension DeliveryStore {
    /// Turns the next stretch of an audience that has changed into starts that are due now.
    ///
    /// Runs after the commit that changed the audience. A device that registers at the same moment is seen here, or
    /// sees the audience in ``enrol(deviceKeys:after:)``. The activity is locked only while its progress is written, so
    /// changes are accepted meanwhile. New members have greater keys, so this reaches them later. When the audience
    /// becomes everybody, ``AudienceStretch/Cursor/devices`` starts again from the first device.
    ///
    /// Earlier starts of the activity may be claimed and settled at the same time (``StartTurn``). This waits for the
    /// activity last, when it writes its progress: until the claims under way are committed. A claim holds the activity, and
    /// then waits for no start and no device: it skips those that are locked. To settle starts nobody waits for the
    /// activity. So no two of them wait for each other.
    ///
    /// - Returns: The place to go on from, as the activity says after it.
    /// - Throws: ``LeaseLost``; then this stretch comes once more.
    package func enrolStretch(
        after place: AudienceStretch.Cursor,
        under lease: SegmentLease
    ) async throws -> AudienceStretch.Enrolled {
        let stretch = AudienceStretch(activityKey: lease.activityKey, after: place, size: store.settings.stretchSize)
        return try await seeingDeletions {
            // The erasure of a user locks devices before activities.
            try await database.withYieldingTransaction { connection in
                let rows = try await connection.pipeline([.planningOnce, stretch.query(Self.enrolment)])[1]
                guard let row = rows.first else { return AudienceStretch.Enrolled(rest: nil, starts: 0) }
                let extent = try stretch.extent(in: row)
                let starts: Int = try row.decode(at: AudienceStretch.extentColumns)
                let results = try await connection.commit([
                    // The next statement sees what was committed before this.
                    ActivityRows.hold(lease.activityKey),
                    Self.completion(of: stretch, extent, under: lease),
                ])
                guard let progress = results[1].first else { throw LeaseLost() }
                let isMore: Bool = try progress["enrolment_due"]
                return AudienceStretch.Enrolled(
                    rest: isMore ? try AudienceStretch.Cursor(progress) : nil,
                    starts: starts
                )
            }
        }
    }

    /// The statement that says how far an audience has been turned into starts, unless the lease is another's.
    private static func completion(
        of stretch: AudienceStretch,
        _ extent: AudienceStretch.Extent,
        under lease: SegmentLease
    ) -> Query {
        """
        UPDATE activities AS a
        SET enrolled_members = greatest(enrolled_members, \(extent.end.members)),
            enrolled_devices = CASE enrolled_devices WHEN \(stretch.after.devices) THEN \(extent.end.devices) ELSE enrolled_devices END,
            enrolled_rule = \(extent.end.rule), enrolled_follow = \(extent.end.follow),
            enrolment_due = NOT \(extent.isLast) OR enrolled_devices <> \(stretch.after.devices) OR EXISTS (
                SELECT FROM audience_members AS m
                WHERE m.activity_key = a.activity_key AND m.member_key > \(extent.end.members) OFFSET 0) OR EXISTS (
                SELECT FROM audience_topics AS m
                WHERE m.activity_key = a.activity_key AND m.rule_key >= \(extent.end.rule))
        WHERE activity_key = \(stretch.activityKey) AND EXISTS (
            SELECT FROM segments AS s WHERE \(part: SegmentRows.isHeld(lease, as: "s")))
        RETURNING enrolment_due, enrolled_members, enrolled_devices, enrolled_rule, enrolled_follow
        """
    }

    /// The statement that makes starts of an ``AudienceStretch``.
    private static let enrolment = """
        , wanted AS (
            SELECT d.device_key FROM activity AS a CROSS JOIN everybody AS d WHERE \(AudienceStretch.isReachedWithAll)
            UNION
            SELECT d.device_key FROM activity AS a CROSS JOIN members AS m CROSS JOIN LATERAL (
                SELECT device_key FROM devices WHERE bundle_id = a.bundle_id AND device_id = m.member_id OFFSET 0
            ) AS d
            WHERE m.kind = 'device'
            UNION
            SELECT d.device_key FROM activity AS a CROSS JOIN members AS m CROSS JOIN LATERAL (
                SELECT device_key FROM devices WHERE bundle_id = a.bundle_id AND user_id = m.member_id OFFSET 0
            ) AS d
            WHERE m.kind = 'user'
            UNION
            SELECT d.device_key FROM activity AS a CROSS JOIN rule AS r CROSS JOIN followers AS f
            CROSS JOIN LATERAL \(AudienceStretch.devicesOfFollower) AS d
            WHERE \(AudienceStretch.isWithinRule)
        ), enrolled AS (
            \(StartRows.enrolment(of: reached))
        )
        SELECT \(AudienceStretch.extent), (SELECT count(*) FROM enrolled)
        """

    /// Starts what is running on devices that have just been registered: an audience is a standing rule until the end.
    ///
    /// Call it after the registration is committed and before it is answered, so that an app whose report was answered
    /// is certainly enrolled. A start that was withheld or failed for the old registration is tried again. One that is
    /// under way is tried again if it fails. `attempts` are kept, because an earlier push may have arrived.
    ///
    /// `statements` come first, in the same transaction. With an activity, for this one alone.
    ///
    /// `isReport`: the devices have registered. Otherwise their topics have changed, which tries nothing again that has
    /// failed.
    package func enrol(
        deviceKeys: [Int64],
        in activityKey: Int64? = nil,
        after statements: [Query] = [],
        isReport: Bool = true
    ) async throws {
        guard !deviceKeys.isEmpty else { return }
        let enrolment = Self.enrolment(of: deviceKeys, in: activityKey, isReport: isReport)
        // A device that is deleted meanwhile is gone before the statements that refer to it, or goes after this transaction.
        let before: [Query] = [.planningOnce, DeviceRows.hold(deviceKeys)] + statements
        // After the starts, in the order in which everybody locks them.
        let after = isReport ? [Continuations.lookAgain(deviceKeys: deviceKeys)] : []
        let rows = try await database.withYieldingTransaction { connection in
            try await connection.commit(before + [enrolment] + after)
        }
        if let count = try rows[before.count].single(Int64.self), count > 0 { wakeUps.signal() }
    }

    /// The statements for devices whose cards the transaction forgets: whoever is wanted again is started again. They stand
    /// before and after the statements that lock and forget the cards.
    package static func enrolment(
        ofForgotten deviceKeys: [Int64],
        in activityKey: Int64
    ) -> (before: [Query], after: [Query]) {
        (
            [DeviceRows.hold(deviceKeys), StartRows.hold(deviceKeys, in: activityKey)],
            [enrolment(of: deviceKeys, in: activityKey, isReport: false)]
        )
    }

    /// The starts of those whom the `wanted` of an ``enrolment`` can reach, and that they have no card or start of yet.
    private static let reached = """
        SELECT a.activity_key, d.device_key, 'pending', clock_timestamp()
        FROM activity AS a JOIN activity_types AS p USING (bundle_id, type_name)
        CROSS JOIN wanted AS w CROSS JOIN LATERAL (
            SELECT device_key, bundle_id, environment, device_token, token_rejected_at FROM devices
            WHERE device_key = w.device_key OFFSET 0
        ) AS d
        WHERE a.state = 'live' AND d.environment = a.environment AND \(isReachable)
          AND NOT EXISTS (
              SELECT FROM subscriptions AS s
              WHERE s.activity_key = a.activity_key AND s.device_key = d.device_key OFFSET 0
          )
          AND NOT EXISTS (
              SELECT FROM starts AS s
              WHERE s.activity_key = a.activity_key AND s.device_key = d.device_key
                AND NOT \(StartRows.wasGivenUp("s")) OFFSET 0
          )
        ORDER BY d.device_key
        """

    /// The statement that makes starts of devices and announces them; it counts them.
    private static func enrolment(of deviceKeys: [Int64], in activityKey: Int64?, isReport: Bool) -> Query {
        let reached: Query = """
            SELECT a.activity_key, d.device_key, 'pending', clock_timestamp()
            FROM devices AS d
            CROSS JOIN LATERAL (
                SELECT a.activity_key, a.type_name FROM start_tokens AS k
                JOIN activities AS a ON a.bundle_id = d.bundle_id AND a.type_name = k.type_name
                WHERE k.device_key = d.device_key AND a.environment = d.environment
                  AND a.audience_all AND a.state = 'live'
                UNION
                SELECT a.activity_key, a.type_name FROM audience_members AS m JOIN activities AS a USING (activity_key)
                WHERE m.bundle_id = d.bundle_id AND m.kind = 'device' AND m.member_id = d.device_id
                  AND a.environment = d.environment AND a.state = 'live'
                UNION
                SELECT a.activity_key, a.type_name FROM audience_members AS m JOIN activities AS a USING (activity_key)
                WHERE m.bundle_id = d.bundle_id AND m.kind = 'user' AND m.member_id = d.user_id
                  AND a.environment = d.environment AND a.state = 'live'
                UNION
                SELECT a.activity_key, a.type_name FROM \(unescaped: Self.namedTopics) AS n
                CROSS JOIN LATERAL \(unescaped: Self.followedTopics) AS f
                CROSS JOIN LATERAL (
                    SELECT activity_key, topics_all, except_topics FROM audience_topics
                    WHERE bundle_id = d.bundle_id AND topic = f.topic OFFSET 0
                ) AS m
                JOIN activities AS a USING (activity_key)
                WHERE a.environment = d.environment AND a.state = 'live'
                  AND \(unescaped: TopicFollowing.isWithin(
                      all: "m.topics_all", except: "m.except_topics", device: "d.device_key", user: "d.user_id",
                      of: "d.bundle_id"))
            ) AS a
            JOIN activity_types AS p ON p.bundle_id = d.bundle_id AND p.type_name = a.type_name
            WHERE d.device_key = ANY(\(deviceKeys)) AND \(unescaped: Self.isReachable)
              AND (\(activityKey)::bigint IS NULL OR a.activity_key = \(activityKey))
              AND NOT EXISTS (
                  SELECT FROM subscriptions AS s
                  WHERE s.activity_key = a.activity_key AND s.device_key = d.device_key OFFSET 0
              )
            ORDER BY a.activity_key, d.device_key
            """
        return """
            WITH enrolled AS (
                \(part: StartRows.enrolment(of: reached, triesAgain: isReport))
            ), announced AS (
                \(unescaped: SegmentRows.announcement(ofActivitiesIn: "enrolled"))
            )
            SELECT count(*) FROM enrolled
            """
    }

    /// The topics that audiences name in the app of the device `d`. There is no row if they name none. The topics are null
    /// if they are many; then nobody reads them all.
    private static let namedTopics = """
        (SELECT CASE WHEN count(*) < \(manyNamed) THEN array_agg(topic) END AS topics FROM (
             SELECT topic FROM audience_topics WHERE bundle_id = d.bundle_id ORDER BY bundle_id, topic LIMIT \(manyNamed)
         ) AS first HAVING count(*) > 0)
        """

    /// A device and its user may follow many topics, and many activities may run. If few topics are named, each is looked
    /// up among those that are followed.
    private static let manyNamed = 16

    /// The topics of the device `d` and of its user, if they are among the `namedTopics` `n`, or those are many.
    private static let followedTopics = """
        (SELECT t.topic FROM unnest(n.topics) AS t(topic)
         WHERE \(TopicFollowing.follows("t.topic", device: "d.device_key", user: "d.user_id", of: "d.bundle_id"))
         UNION ALL
         SELECT f.topic FROM topic_follows AS f WHERE n.topics IS NULL AND f.device_key = d.device_key
         UNION ALL
         SELECT o.topic FROM (
             SELECT f.topic FROM topic_follows AS f
             WHERE n.topics IS NULL AND f.bundle_id = d.bundle_id AND f.user_id >= d.user_id AND f.user_id <= d.user_id
             ORDER BY f.user_id, f.topic LIMIT \(Topic.maximumCount)
         ) AS o
         OFFSET 0)
        """

    /// An SQL condition: the device `d` can be sent a start of the activity `a` now or later, or an alert instead if the
    /// policy `p` says so. The claim decides whether it is sent.
    private static let isReachable = """
        (\(StartTokenState.mayLive(device: "d.device_key", type: "a.type_name"))
         OR ((\(UsableToken.ofDevice)) IS NOT NULL
             AND \(StoredPolicy.fallsBack("p"))))
        """
}

import Postgres

/// A part of an audience that one short statement can deal with, however many the whole has: members in the order in
/// which they were named and, where the audience is all, devices in the order of their keys.
struct AudienceStretch: Sendable {
    let activityKey: Int64
    /// Where the stretch before has ended.
    let after: Place
    /// Members at most, and as many devices.
    let size: Int

    /// How far the stretches up to one have come.
    struct Place: Sendable, Equatable {
        /// Of the members those up to this key.
        var members: Int64 = 0
        /// Of the devices those up to this key; at most 0: none.
        var devices: Int64 = 0
    }

    /// What a stretch has turned out to hold.
    struct Extent: Sendable, Equatable {
        let end: Place
        /// Whether there was nothing behind it.
        let isLast: Bool
    }

    /// A statement that begins with the tables `activity` (its row), `members` and `everybody` (keys of devices), and
    /// goes on with `rest`; its result begins with ``extent``. Run it behind ``Query/planningOnce``.
    ///
    /// The order of devices names the app, though that is one and the same: only one index has that order, so no other
    /// is taken, which would be read to its end for an app with few devices among many.
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
        )\(unescaped: rest)
        """
    }

    /// The first columns of the result.
    static let extent = """
        (SELECT max(member_key) FROM members), (SELECT count(*) FROM members),
        (SELECT max(device_key) FROM everybody), (SELECT count(*) FROM everybody)
        """

    /// The condition that the audience is all and so reaches the device `d` of the `activity` `a`.
    static let isReachedWithAll = """
        (a.audience_all AND EXISTS (
            SELECT FROM start_tokens AS k WHERE k.device_key = d.device_key AND k.type_name = a.type_name OFFSET 0))
        """

    /// Reads the columns of ``extent``.
    func extent(_ members: Int64?, _ memberCount: Int64, _ devices: Int64?, _ deviceCount: Int64) -> Extent {
        Extent(
            end: Place(members: members ?? after.members, devices: devices ?? after.devices),
            isLast: memberCount < size && deviceCount < size
        )
    }
}

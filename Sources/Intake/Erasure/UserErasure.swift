import ActivityModel
import DeliveryStore
import JSON
import Postgres

/// Removes a user, and the devices of that user, from the stored audiences of activities.
enum UserErasure {
    /// The activities that name the user or a device of the user, in the start as it is kept or in the audience. It
    /// reads all activities of the app, at most `pageSize` a statement: run it before the transaction writes anything,
    /// because readers of events wait for who writes.
    static func activities(
        _ app: BundleID,
        _ user: UserID,
        _ devices: [String],
        pageSize: Int,
        on connection: PostgresConnection
    ) async throws -> [Int64] {
        let members = try await connection.query(AudienceRows.activities(naming: user, devices, in: app))
        var keys = Set(try members.decoded(as: Int64.self))
        var place: String? = ""
        while let after = place {
            let page = try await connection.query(
                ActivityRows.starts(naming: user, devices, in: app, behind: after, pageSize: pageSize)
            )
            place = nil
            for (last, named) in try page.decoded(as: (String?, [Int64]).self) {
                place = last
                keys.formUnion(named)
            }
        }
        return keys.sorted()
    }

    /// Locks these activities, and rewrites the starts that named the user or a device of the user, while the devices
    /// are still there.
    ///
    /// A replay is judged against the start as it is kept, so one that still names the user is another start from now
    /// on.
    static func starts(
        of activityKeys: [Int64],
        _ user: UserID,
        _ devices: [String],
        on connection: PostgresConnection
    ) async throws {
        let rows = try await connection.query(ActivityRows.holdStarts(of: activityKeys))
        var keys: [Int64] = []
        var bodies: [String] = []
        for (key, text) in try rows.decoded(as: (Int64, String).self) {
            guard var body = try JSONValue(parsing: text).object, let named = body["audience"]?.object else { continue }
            var audience = named
            audience["users"] = without([user.rawValue], audience["users"])
            audience["devices"] = without(devices, audience["devices"])
            guard audience != named else { continue }
            body["audience"] = .object(audience)
            keys.append(key)
            bodies.append(JSONValue.object(body).text)
        }
        guard !keys.isEmpty else { return }
        _ = try await connection.execute(ActivityRows.replaceStarts(with: bodies, of: keys))
    }

    private static func without(_ ids: [String], _ list: JSONValue?) -> JSONValue? {
        list?.array.map { .array($0.filter { !ids.contains($0.string ?? "") }) }
    }
}

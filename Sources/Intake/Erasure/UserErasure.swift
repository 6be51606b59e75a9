import ActivityModel
import DeliveryStore
import JSON
import Postgres
import Store

/// Removes a user, and the devices of that user, from the stored audiences of activities.
enum UserErasure {
    /// How many starts are rewritten in one transaction. Each may have a long audience, and changes of these activities
    /// wait.
    private static let startsAtOnce = 100

    /// Rewrites all starts of an app that name the user or a device of the user, as they are kept. It reads all
    /// activities of the app, at most `pageSize` a statement.
    ///
    /// No transaction is longer than some starts. So starts that are accepted meanwhile may name the user again. The last
    /// transaction of the erasure looks for them.
    static func rewriteStarts(
        _ app: BundleID,
        _ user: UserID,
        _ devices: [String],
        pageSize: Int,
        in database: Database
    ) async throws {
        var place: String? = ""
        while let after = place {
            let page = try await database.query(
                ActivityRows.starts(naming: user, devices, in: app, behind: after, pageSize: pageSize)
            )
            place = nil
            for (last, named) in try page.decoded(as: (String?, [Int64]).self) {
                place = last
                for start in stride(from: 0, to: named.count, by: startsAtOnce) {
                    let keys = Array(named[start..<min(start + startsAtOnce, named.count)])
                    try await database.withYieldingTransaction { try await starts(of: keys, user, devices, on: $0) }
                }
            }
        }
    }

    /// Locks these activities, and rewrites the starts that name the user or a device of the user, while the devices
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
        let rows = try await connection.query(ActivityRows.holdStarts(of: activityKeys, naming: user, devices))
        var keys: [Int64] = []
        var bodies: [String] = []
        for (key, text) in try rows.decoded(as: (Int64, String?).self) {
            guard let text, var body = try JSONValue(parsing: text).object, let named = body["audience"]?.object
            else { continue }
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

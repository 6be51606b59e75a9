import ActivityModel
import Postgres

/// For whose sake states of running activities have to be decodable by one version of their type: what ``Followers``
/// requires of a change to one of them, asked of all activities of the type.
struct Following: Equatable {
    /// App versions that decode it and from which nothing is withheld.
    var appVersions: [String] = []
    /// Some activities that they follow.
    var activities: [String] = []
    /// Some activities with a channel, where anybody may listen.
    var channels: [String] = []

    /// How many of them are looked for and told.
    private static let toldCount = 3

    /// In words that go on after "while".
    var words: String {
        var clauses: [String] = []
        if !appVersions.isEmpty {
            clauses.append("\(Self.list(appVersions.map(Self.apps))) follow \(Self.list(activities.map { "'\($0)'" }))")
        }
        if !channels.isEmpty {
            clauses.append("anybody may listen to the channel of \(Self.list(channels.map { "'\($0)'" }))")
        }
        return clauses.joined(separator: ", and ")
    }

    private static func list(_ names: [String]) -> String {
        names.prefix(toldCount).joined(separator: ", ") + (names.count > toldCount ? " and others" : "")
    }

    /// The apps that report a version; the empty text stands for those that report none.
    static func apps(_ appVersion: String) -> String {
        appVersion.isEmpty ? "apps that do not say their version" : "apps of version \(appVersion)"
    }

    // MARK: Reading

    /// Who follows by these versions of a type, which are current by `rule`; nothing for those by which nobody does.
    ///
    /// Run it while the type is locked: no state is accepted meanwhile.
    static func read(
        _ app: BundleID,
        _ name: ActivityTypeName,
        by versions: Set<Int>,
        _ rule: TypeVersions,
        on connection: PostgresConnection
    ) async throws -> [Int: Following] {
        guard !versions.isEmpty else { return [:] }
        var following: [Int: Following] = [:]
        let channels = try await connection.query(runningChannels(app, name)).decoded(as: String.self)
        if !channels.isEmpty {
            for version in versions { following[version] = Following(channels: channels) }
        }
        let appVersions = try await connection.query(AppVersionRows.following(app, name)).decoded(as: String.self)
        let concerned = appVersions.filter { versions.contains(rule.version(ofApp: AppVersion($0))) }
        guard !concerned.isEmpty else { return following }
        let users = try await connection.query(
            AppVersionRows.users(app, name, of: concerned, limit: toldCount + 1)
        )
        for (appVersion, activity) in try users.decoded(as: (String, String).self) {
            following[rule.version(ofApp: AppVersion(appVersion)), default: Following()].add(appVersion, activity)
        }
        return following
    }

    private mutating func add(_ appVersion: String, _ activity: String) {
        if !appVersions.contains(appVersion) { appVersions.append(appVersion) }
        if !activities.contains(activity) { activities.append(activity) }
    }

    private static func runningChannels(_ app: BundleID, _ name: ActivityTypeName) -> Query {
        """
        SELECT activity_id FROM activities
        WHERE bundle_id = \(app.rawValue) AND type_name = \(name.rawValue) AND state <> 'ended' AND delivery <> 'tokens'
        ORDER BY activity_key DESC LIMIT \(toldCount + 1)
        """
    }
}

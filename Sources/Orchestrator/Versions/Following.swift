import ActivityModel

/// For whose sake states of running activities have to be decodable by one version of their type: what ``Followers``
/// requires of a change to one of them, asked of all activities of the type.
struct Following: Equatable {
    /// App versions that decode it and from which nothing is withheld.
    var appVersions: [String] = []
    /// Some activities that they follow.
    var activities: [String] = []
    /// Some activities with a channel, where anybody may listen.
    var channels: [String] = []

    /// The activities that are known, by app version.
    private var counts: [String: Int] = [:]

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

    // MARK: Adding

    mutating func add(channel activity: String) {
        if channels.count <= Self.toldCount, !channels.contains(activity) { channels.append(activity) }
    }

    mutating func add(_ appVersion: String, _ activity: String) {
        if !appVersions.contains(appVersion) { appVersions.append(appVersion) }
        if !activities.contains(activity) { activities.append(activity) }
        counts[appVersion, default: 0] += 1
    }

    /// Whether as many activities are known as are told, and one more.
    func isEnough(of appVersion: String) -> Bool { counts[appVersion, default: 0] > Self.toldCount }
}

import ActivityModel

/// The followers of running activities of a type by one of its versions.
///
/// ``TypeCompatibility`` collects it. A finding then says for whose sake Tally would refuse states.
struct Following: Equatable {
    /// App versions that decode it and from which nothing is withheld.
    var appVersions: [String] = []
    /// Some activities that they follow.
    var activities: [String] = []
    /// Some activities with a channel, where anybody may listen.
    var channels: [String] = []

    /// The activities that are known, by app version.
    private var counts: [String: Int] = [:]

    /// The most names that an error lists.
    private static let toldCount = 3

    /// A clause for an error, which follows the word "while".
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

    /// The apps that report a version. The empty text means apps that report no version.
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

    /// Whether more activities are known than an error lists.
    func isEnough(of appVersion: String) -> Bool { counts[appVersion, default: 0] > Self.toldCount }
}

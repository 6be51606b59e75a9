import APITypes
import ActivityModel
import JSON
import Postgres

/// Whether the devices of a batch of starts can decode what they would be started with: attributes, which never change, and
/// the newest state.
struct StartVersions {
    private let activity: ActivitySnapshot
    private let type: TypeContext
    private let contentState: CompactJSON
    private var takesAttributes: [Int: Bool] = [:]
    private var takesContent: [Int: Bool] = [:]
    private var found: [String: Bool] = [:]

    /// The type is held, and the state is the newest, until the batch is claimed.
    init(_ activity: ActivitySnapshot, _ type: TypeContext, _ contentState: CompactJSON) throws {
        self.activity = activity
        self.type = type
        self.contentState = contentState
    }

    /// Whether a device may be started. `isWithheld` is what is known of apps of this version; nil: nothing yet.
    ///
    /// One that would listen to the channel (`onChannel`) must decode a version that is not retired: nothing can be withheld
    /// from it later, and what is accepted there is decoded by those alone.
    mutating func mayStart(_ appVersion: String, isWithheld: Bool?, onChannel: Bool) throws -> Bool {
        let version = type.version(ofStored: appVersion)
        let isDecoded: Bool
        if let isWithheld {
            isDecoded = !isWithheld
        } else {
            isDecoded = try takes(.contentState, contentState, version, &takesContent)
            found[appVersion] = isDecoded
        }
        if onChannel, type.versions.isRetired(version) { return false }
        guard isDecoded else { return false }
        return try takes(.attributes, activity.attributes, version, &takesAttributes)
    }

    private func takes(
        _ part: SchemaPart,
        _ stored: CompactJSON,
        _ version: Int,
        _ known: inout [Int: Bool]
    ) throws -> Bool {
        if let answer = known[version] { return answer }
        let answer = type.decodes(try JSONValue.parse(stored.bytes), as: part, version: version)
        known[version] = answer
        return answer
    }

    /// What is to be written of app versions that were met for the first time.
    var statements: [Query] {
        guard !found.isEmpty else { return [] }
        let rows = found.sorted { $0.key < $1.key }.map { appVersion, isDecoded in
            AppVersionRows.New(
                activityKey: activity.key,
                appVersion: appVersion,
                isWithheld: !isDecoded,
                revision: activity.newest
            )
        }
        let events = rows.filter(\.isWithheld).map { row in
            Event.incompatibleVersion(
                row.appVersion,
                type.version(ofStored: row.appVersion),
                activityKey: row.activityKey,
                revision: row.revision
            )
        }
        return [AppVersionRows.insertion(rows)] + (events.isEmpty ? [] : [EventRows.insertion(events)])
    }
}

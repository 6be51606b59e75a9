import APITypes
package import ActivityModel
import JSON
package import Postgres
package import Registry
import Store

/// Whether the devices of a batch of starts can decode their content. That is the attributes, which never change, and
/// the state that was the newest when the worker looked.
package struct StartVersions {
    /// The known facts about apps of one version; see ``AppVersionRows``.
    package struct Decoding: Sendable {
        /// They cannot decode the newest state.
        let isWithheld: Bool
        /// While not withheld: they can decode every revision since this one.
        let since: Revision

        package init(isWithheld: Bool, since: Revision) {
            self.isWithheld = isWithheld
            self.since = since
        }
    }

    private let activity: ActivitySnapshot
    private let type: TypeContext
    /// May be newer than what the starts bring.
    private let newest: Revision
    private let newestState: CompactJSON
    private var takesAttributes: [Int: Bool] = [:]
    private var takesContent: [Int: Bool] = [:]
    private var found: [String: Bool] = [:]

    /// The type is held, and `newest` stays the newest, until the batch is claimed.
    package init(_ activity: ActivitySnapshot, _ type: TypeContext, newest: Revision, _ newestState: CompactJSON) {
        self.activity = activity
        self.type = type
        self.newest = newest
        self.newestState = newestState
    }

    /// Whether it can be said now if apps of a version decode what the starts bring. If not, it can at the next look:
    /// what the newest state is to them has been noted.
    package mutating func knows(_ appVersion: String, _ decoding: Decoding?) throws -> Bool {
        if newest == activity.newest { return true }
        if let decoding { return decoding.isWithheld || decoding.since <= activity.newest }
        _ = try judge(appVersion, type.version(ofStored: appVersion))
        return false
    }

    /// Whether a device with these facts may be started. `decoding` is nil for apps that are met for the first time.
    ///
    /// A device that would listen to the channel (`onChannel`) must decode a version that is not retired. Nothing can
    /// be withheld from it later, and only versions that are not retired are sure to decode states on the channel.
    package mutating func mayStart(_ appVersion: String, _ decoding: Decoding?, onChannel: Bool) throws -> Bool {
        let version = type.version(ofStored: appVersion)
        let isDecoded = try decoding.map { !$0.isWithheld } ?? judge(appVersion, version)
        if onChannel, type.versions.isRetired(version) { return false }
        guard isDecoded else { return false }
        return try takes(.attributes, activity.attributes, version, &takesAttributes)
    }

    private mutating func judge(_ appVersion: String, _ version: Int) throws -> Bool {
        let isDecoded = try takes(.contentState, newestState, version, &takesContent)
        found[appVersion] = isDecoded
        return isDecoded
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

    /// The statements that store app versions that were met for the first time.
    package var statements: [Query] {
        guard !found.isEmpty else { return [] }
        let rows = found.sorted { $0.key < $1.key }.map { appVersion, isDecoded in
            AppVersionRows.New(
                activityKey: activity.key,
                appVersion: appVersion,
                isWithheld: !isDecoded,
                revision: newest
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

extension StartVersions {
    /// Reads the known facts about the app versions that follow an activity.
    package static func decodings(
        of activityKey: Int64,
        on connection: PostgresConnection
    ) async throws -> [String: Decoding] {
        let rows = try await connection.query(
            """
            SELECT app_version, is_withheld, decodes_from FROM activity_app_versions
            WHERE activity_key = \(activityKey)
            """
        )
        var decodings: [String: Decoding] = [:]
        for (appVersion, isWithheld, decodesFrom) in try rows.decoded(as: (String, Bool, Int64).self) {
            decodings[appVersion] = Decoding(isWithheld: isWithheld, since: decodesFrom)
        }
        return decodings
    }
}

import APITypes
import ActivityModel
import JSON
import Postgres

/// Makes sure that it is known, before a device has a card, whether its app can decode what the activity sends.
///
/// Run it first in a transaction that makes or changes cards, and the alignment of ``AppVersionRows`` last. What it finds
/// stays so until the transaction ends: a change that the app cannot decode waits for it, and then sees the card.
struct AppVersionAdmission {
    let orchestrator: Orchestrator
    let deviceKey: Int64

    /// - Throws: ``OutdatedType``; try again then, from the beginning.
    func admit(to activityKeys: [Int64], on connection: PostgresConnection) async throws {
        // Nearly always somebody with the same app was there before.
        let hold = AppVersionRows.hold(activityKeys, deviceKey: deviceKey)
        if activityKeys.count == 1, try await !connection.query(hold).isEmpty { return }
        // Rows are held last: whoever changes them has locked types and activities before.
        let known = try await connection.query(AppVersionRows.known(activityKeys, deviceKey: deviceKey))
        let missing = Set(activityKeys).subtracting(try known.decoded(as: Int64.self)).sorted()
        if !missing.isEmpty { try await judge(missing, on: connection) }
        _ = try await connection.query(hold)
    }

    /// Judges the newest states of activities for the device's app, and writes down what comes of it.
    private func judge(_ activityKeys: [Int64], on connection: PostgresConnection) async throws {
        let types = try await types(of: activityKeys, on: connection)
        let results = try await connection.pipeline([
            TypeVersionRows.hold(types.values),
            // After the types, as everybody does; no state is accepted from here on.
            "SELECT FROM activities WHERE activity_key = ANY(\(activityKeys)) ORDER BY activity_key FOR SHARE",
            """
            SELECT a.activity_key, a.bundle_id, a.type_name, a.revision, c.content_state::text,
                   (SELECT \(unescaped: AppVersionRows.appVersion) FROM devices AS d WHERE d.device_key = \(deviceKey))
            FROM activities AS a JOIN changes AS c USING (activity_key, revision)
            WHERE a.activity_key = ANY(\(activityKeys))
            """,
        ])
        let updates = try TypeVersionRows.updates(results[0])
        var rows: [AppVersionRows.New] = []
        var events: [Event] = []
        for (key, app, name, revision, content, appVersion) in try results[2].decoded(
            as: (Int64, String, String, Int64, String, String).self
        ) {
            let typeKey = RegistryCaches.TypeKey(app: BundleID(stored: app), name: ActivityTypeName(stored: name))
            guard let type = types[typeKey] else { continue }
            try type.check(updates)
            let version = type.version(ofStored: appVersion)
            let isDecoded = type.decodes(try JSONValue(parsing: content), as: .contentState, version: version)
            rows.append(.init(activityKey: key, appVersion: appVersion, isWithheld: !isDecoded, revision: revision))
            if !isDecoded {
                events.append(.incompatibleVersion(appVersion, version, activityKey: key, revision: revision))
            }
        }
        _ = try await connection.pipeline(
            [AppVersionRows.insertion(rows)] + (events.isEmpty ? [] : [EventRows.insertion(events)])
        )
    }

    private func types(
        of activityKeys: [Int64],
        on connection: PostgresConnection
    ) async throws -> [RegistryCaches.TypeKey: TypeContext] {
        let rows = try await connection.query(
            "SELECT DISTINCT bundle_id, type_name FROM activities WHERE activity_key = ANY(\(activityKeys))"
        )
        var types: [RegistryCaches.TypeKey: TypeContext] = [:]
        for (app, name) in try rows.decoded(as: (String, String).self) {
            let type = try await orchestrator.typeContext(BundleID(stored: app), ActivityTypeName(stored: name))
            types[type.key] = type
        }
        return types
    }

    /// Does the same for all activities whose cards are on the device, which has another version of the app now, and for
    /// one that is to have a card there.
    func readmit(andTo activityKey: Int64? = nil, on connection: PostgresConnection) async throws {
        let rows = try await connection.query(
            """
            SELECT activity_key FROM subscriptions
            WHERE device_key = \(deviceKey) AND mode = 'token' AND state IN ('riding', 'due', 'rejected', 'withheld')
            ORDER BY activity_key
            """
        )
        let keys = try rows.decoded(as: Int64.self)
        let all = Set(keys).union([activityKey].compactMap { $0 }).sorted()
        guard !all.isEmpty else { return }
        try await admit(to: all, on: connection)
        guard !keys.isEmpty else { return }
        _ = try await connection.pipeline([
            AppVersionRows.alignment(keys, deviceKey: deviceKey),
            SegmentStore.announce(cards: keys.map { ($0, deviceKey) }),
        ])
    }
}

import APITypes
import ActivityModel
import Cards
import JSON
package import Postgres
package import Store

/// Before devices have cards, makes sure that Tally knows whether their apps can decode what the activities send.
///
/// Run it first in a transaction that makes or changes cards, and the alignment of ``CardVersions`` last. Its
/// findings hold until the transaction ends: a change that an app cannot decode waits for it, and then sees the cards.
package struct AppVersionAdmission {
    let registry: Registry

    package init(registry: Registry) {
        self.registry = registry
    }

    /// Nearly always somebody with the same app was there before.
    ///
    /// - Returns: The cards that have to be left to another transaction, because only some cards have a known version.
    ///   Empty for a single card.
    /// - Throws: ``OutdatedType``; try again then, from the beginning.
    package func admit(_ cards: [CardKey], on connection: PostgresConnection) async throws -> Set<CardKey> {
        guard !cards.isEmpty else { return [] }
        let held = try await hold(cards, on: connection)
        guard held.isEmpty else { return Set(cards).subtracting(held) }
        // No row is held, so what comes before them can still be locked.
        try await admit(cards, judging: cards, on: connection)
        return []
    }

    private func hold(_ cards: [CardKey], on connection: PostgresConnection) async throws -> Set<CardKey> {
        try CardVersions.cards(await connection.query(CardVersions.hold(cards)))
    }

    /// Rows are held last: whoever changes them has locked types and activities before.
    private func admit(_ cards: [CardKey], judging missing: [CardKey], on connection: PostgresConnection) async throws {
        if !missing.isEmpty { try await judge(missing, on: connection) }
        let held = try await hold(cards, on: connection)
        // A row that was there may have been forgotten before it was held.
        guard let gone = cards.first(where: { !held.contains($0) }) else { return }
        // Has no type if the activity is gone.
        let types = try await types(of: [gone.activityKey], on: connection)
        if let type = types.keys.first { throw OutdatedType(type: type) }
    }

    /// Judges the newest states of activities for the apps of devices, and stores the verdicts. All transactions store
    /// several verdicts in one order, so that two never wait for each other.
    private func judge(_ cards: [CardKey], on connection: PostgresConnection) async throws {
        let activityKeys = cards.map(\.activityKey)
        let types = try await types(of: activityKeys, on: connection)
        let results = try await connection.pipeline([
            TypeVersionRows.hold(types.values),
            // After the types, as everybody does; no state is accepted from here on, and nobody else makes rows.
            "SELECT FROM activities WHERE activity_key = ANY(\(activityKeys)) ORDER BY activity_key FOR NO KEY UPDATE",
            AppVersionRows.counts(activityKeys),
            """
            SELECT a.activity_key, a.bundle_id, a.type_name, a.revision, c.content_state::text, w.app_version
            FROM (
                SELECT DISTINCT r.activity_key, \(unescaped: CardVersions.appVersion) AS app_version
                FROM unnest(\(activityKeys), \(cards.map(\.deviceKey))) AS r(activity_key, device_key)
                JOIN devices AS d USING (device_key)
            ) AS w
            JOIN activities AS a ON a.activity_key = w.activity_key
            JOIN changes AS c ON c.activity_key = a.activity_key AND c.revision = a.revision
            ORDER BY a.activity_key, w.app_version
            """,
        ])
        let updates = try TypeVersionRows.updates(results[0])
        var rows: [AppVersionRows.New] = []
        var events: [Event] = []
        for row in results[3] {
            let typeKey = RegistryCaches.TypeKey(
                app: BundleID(stored: try row["bundle_id"]),
                name: ActivityTypeName(stored: try row["type_name"])
            )
            guard let type = types[typeKey] else { continue }
            try type.check(updates)
            let key: Int64 = try row["activity_key"]
            let revision: Revision = try row["revision"]
            let appVersion: String = try row["app_version"]
            let version = type.version(ofStored: appVersion)
            let content = try JSONValue(parsing: row["content_state"])
            let isDecoded = type.decodes(content, as: .contentState, version: version)
            rows.append(.init(activityKey: key, appVersion: appVersion, isWithheld: !isDecoded, revision: revision))
            if !isDecoded {
                events.append(.incompatibleVersion(appVersion, version, activityKey: key, revision: revision))
            }
        }
        _ = try await connection.pipeline(
            [AppVersionRows.insertion(rows)] + (events.isEmpty ? [] : [EventRows.insertion(events)])
        )
        let counts = try results[2].decoded(as: (Int64, Int64).self)
        try await forgetUnused(rows, besides: Dictionary(uniqueKeysWithValues: counts), on: connection)
    }

    /// A phone may report any text that looks like a version, and each makes a row, which every change of the activity
    /// reads. So after every so many new rows of an activity, Tally deletes its rows whose version no device has any
    /// more. Then at most so many more rows than devices are left.
    private static let tidiedEvery = 128

    private func forgetUnused(
        _ new: [AppVersionRows.New],
        besides counts: [Int64: Int64],
        on connection: PostgresConnection
    ) async throws {
        let full = Dictionary(grouping: new, by: \.activityKey).filter { key, rows in
            let before = Int(counts[key] ?? 0)
            return before / Self.tidiedEvery < (before + rows.count) / Self.tidiedEvery
        }
        guard !full.isEmpty else { return }
        // A transaction that holds a row is about to use it. Nobody waits here: whoever changes rows has locked the
        // activity before.
        let rows = try await connection.query(AppVersionRows.onNoDevice(full.keys.sorted()))
        let unused = try rows.decoded(as: (Int64, String).self)
        guard !unused.isEmpty else { return }
        // A second statement, because a transaction that has just released a row has committed its work on it.
        _ = try await connection.execute(AppVersionRows.deletion(of: unused))
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
            let name = ActivityTypeName(stored: name)
            let type = try await registry.typeContext(BundleID(stored: app), name) {
                try await connection.query($0)
            }
            types[type.key] = type
        }
        return types
    }

    /// Does the same for all activities whose cards are on the device, which has another version of the app now, and
    /// for one that is to have a card there.
    package func readmit(
        _ deviceKey: Int64,
        andTo activityKey: Int64? = nil,
        on connection: PostgresConnection
    ) async throws {
        let rows = try await connection.query(
            """
            SELECT activity_key FROM subscriptions AS s
            WHERE device_key = \(deviceKey) AND \(unescaped: CardStanding.takesStates("s"))
            ORDER BY activity_key
            """
        )
        let keys = try rows.decoded(as: Int64.self)
        let all = Set(keys).union([activityKey].compactMap { $0 }).sorted()
        guard !all.isEmpty else { return }
        let concerned = all.map { CardKey(activityKey: $0, deviceKey: deviceKey) }
        let known = try CardVersions.cards(await connection.query(CardVersions.known(concerned)))
        try await admit(concerned, judging: concerned.filter { !known.contains($0) }, on: connection)
        guard !keys.isEmpty else { return }
        let cards = keys.map { CardKey(activityKey: $0, deviceKey: deviceKey) }
        _ = try await connection.pipeline([
            CardVersions.alignment(cards),
            SegmentRows.announce(cards: cards),
        ])
    }
}

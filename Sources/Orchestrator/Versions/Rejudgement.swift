import APITypes
import ActivityModel
import JSON
import Postgres

/// Judges the newest states of running activities anew, for apps that decode another version than before: a version was
/// registered, retired, or is understood by other apps.
///
/// Run it in the transaction that changes the type, which is locked: nothing is accepted meanwhile.
struct Rejudgement {
    let before: TypeVersions
    let app: BundleID
    let name: ActivityTypeName

    private static let batchSize = 500

    /// - Returns: The app versions from which a newest state is withheld for it.
    func run(on connection: PostgresConnection) async throws -> Set<String> {
        let after = TypeContext(
            app: app,
            name: name,
            policy: Policy(),
            versions: try await TypeVersionRows.compiled(app, name) { try await connection.query($0) },
            updatedAt: PGTimestamp(microseconds: 0)
        )
        let rows = try await connection.query(
            """
            SELECT DISTINCT v.app_version FROM activities AS a JOIN activity_app_versions AS v USING (activity_key)
            WHERE \(unescaped: Self.isShown) AND a.bundle_id = \(app.rawValue) AND a.type_name = \(name.rawValue)
            """
        )
        let concerned = try rows.decoded(as: String.self).filter { appVersion in
            before.version(ofApp: AppVersion(appVersion)) != after.version(ofStored: appVersion)
        }
        guard !concerned.isEmpty else { return [] }
        var withheld: Set<String> = []
        var last: (key: Int64, appVersion: String) = (0, "")
        while true {
            let followers = try await next(after: last, concerned, on: connection)
            guard let end = followers.last else { return withheld }
            last = (end.activityKey, end.appVersion)
            let changed = try followers.compactMap { try $0.judged(by: after) }
            withheld.formUnion(changed.filter(\.isWithheld).map(\.appVersion))
            guard !changed.isEmpty else { continue }
            let events = changed.filter(\.isWithheld).map { row in
                Event.incompatibleVersion(
                    row.appVersion,
                    after.version(ofStored: row.appVersion),
                    activityKey: row.activityKey,
                    revision: row.revision
                )
            }
            _ = try await connection.pipeline(
                [AppVersionRows.change(changed)] + (events.isEmpty ? [] : [EventRows.insertion(events)])
                    + [SegmentStore.announce(activityKeys: Array(Set(changed.map(\.activityKey))).sorted())]
            )
        }
    }

    private struct Follower {
        let activityKey: Int64
        let appVersion: String
        let isWithheld: Bool
        let revision: Revision
        let contentState: String

        /// The row as it has to be; nil if it is so already.
        func judged(by type: TypeContext) throws -> AppVersionRows.New? {
            let version = type.version(ofStored: appVersion)
            let content = try JSONValue(parsing: contentState)
            let isDecoded = type.decodes(content, as: .contentState, version: version)
            guard isDecoded == isWithheld else { return nil }
            return .init(activityKey: activityKey, appVersion: appVersion, isWithheld: !isDecoded, revision: revision)
        }
    }

    private func next(
        after last: (key: Int64, appVersion: String),
        _ appVersions: [String],
        on connection: PostgresConnection
    ) async throws -> [Follower] {
        let rows = try await connection.query(
            """
            SELECT v.activity_key, v.app_version, v.is_withheld, a.revision, c.content_state::text
            FROM activities AS a JOIN activity_app_versions AS v USING (activity_key) JOIN changes AS c USING (activity_key, revision)
            WHERE \(unescaped: Self.isShown) AND a.bundle_id = \(app.rawValue) AND a.type_name = \(name.rawValue)
              AND v.app_version = ANY(\(appVersions)) AND (v.activity_key, v.app_version) > (\(last.key), \(last.appVersion))
            ORDER BY v.activity_key, v.app_version LIMIT \(Self.batchSize)
            """
        )
        return try rows.decoded(as: (Int64, String, Bool, Int64, String).self).map(Follower.init)
    }

    /// The condition that phones may show the activity `a`, or come to.
    private static let isShown = """
        (a.state <> 'ended' OR a.ended_at > clock_timestamp() - interval '\(ActivitySnapshot.longestCard.components.seconds) seconds')
        """
}

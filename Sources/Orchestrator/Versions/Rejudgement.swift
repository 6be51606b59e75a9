import APITypes
import ActivityModel
import JSON
import Postgres
import Store

/// Judges the newest states of running activities anew, for apps that decode another version than before: a version was
/// registered, retired, or is understood by other apps.
///
/// While a type is locked nothing is accepted, so nearly all of the judging is done before (``foresee(from:)``): what
/// is left for the transaction that changes the type are states that have come since.
struct Rejudgement: Sendable {
    let before: TypeVersions
    let after: TypeContext

    /// Rows looked at at a time.
    private static let batchSize = 1_000

    /// What versions of the type make of newest states.
    struct Verdicts: Sendable {
        /// A state never changes, nor do the schemas of a version.
        fileprivate struct Place: Hashable {
            let activityKey: Int64
            let revision: Revision
            let version: Int
        }

        /// The newest version of the type as it was then; of another type these are no verdicts.
        fileprivate let newest: Int
        fileprivate var isDecoded: [Place: Bool] = [:]
    }

    /// Judges what there is now, without a lock.
    func foresee(from database: Database) async throws -> Verdicts {
        var verdicts = Verdicts(newest: before.newest)
        try await eachBatch(on: { try await database.query($0) }) { followers in
            try await judge(followers, &verdicts) { try await database.query($0) }
        }
        return verdicts
    }

    /// Run it in the transaction that changes the type, which is locked: nothing is accepted meanwhile.
    ///
    /// - Returns: The app versions from which a newest state is withheld for it.
    func run(_ foreseen: Verdicts?, on connection: PostgresConnection) async throws -> Set<String> {
        var verdicts = Verdicts(newest: before.newest)
        if let foreseen, foreseen.newest == before.newest { verdicts = foreseen }
        var withheld: Set<String> = []
        try await eachBatch(on: { try await connection.query($0) }) { followers in
            try await judge(followers, &verdicts) { try await connection.query($0) }
            let changed = followers.compactMap { row($0, verdicts) }
            withheld.formUnion(changed.filter(\.isWithheld).map(\.appVersion))
            let statements = statements(changed)
            if !statements.isEmpty { _ = try await connection.pipeline(statements) }
        }
        return withheld
    }

    private func statements(_ changed: [AppVersionRows.New]) -> [Query] {
        guard !changed.isEmpty else { return [] }
        let events = changed.filter(\.isWithheld).map { row in
            Event.incompatibleVersion(
                row.appVersion,
                after.version(ofStored: row.appVersion),
                activityKey: row.activityKey,
                revision: row.revision
            )
        }
        return [AppVersionRows.change(changed)] + (events.isEmpty ? [] : [EventRows.insertion(events)])
            + [SegmentRows.announce(activityKeys: Array(Set(changed.map(\.activityKey))).sorted())]
    }

    // MARK: Judging

    private struct Follower {
        let activityKey: Int64
        let appVersion: String
        let isWithheld: Bool
        let revision: Revision
    }

    private func place(_ follower: Follower) -> Verdicts.Place {
        Verdicts.Place(
            activityKey: follower.activityKey,
            revision: follower.revision,
            version: after.version(ofStored: follower.appVersion)
        )
    }

    /// The row as it has to be; nil if it is so already.
    private func row(_ follower: Follower, _ verdicts: Verdicts) -> AppVersionRows.New? {
        guard verdicts.isDecoded[place(follower)] == follower.isWithheld else { return nil }
        return AppVersionRows.New(
            activityKey: follower.activityKey,
            appVersion: follower.appVersion,
            isWithheld: !follower.isWithheld,
            revision: follower.revision
        )
    }

    /// Adds the verdicts that are not there yet.
    private func judge(
        _ followers: [Follower],
        _ verdicts: inout Verdicts,
        on query: (Query) async throws -> Rows
    ) async throws {
        let open = Dictionary(
            grouping: followers.map(place).filter { verdicts.isDecoded[$0] == nil },
            by: \.activityKey
        )
        guard !open.isEmpty else { return }
        let rows = try await query(
            """
            SELECT a.activity_key, a.revision, c.content_state::text
            FROM activities AS a JOIN changes AS c USING (activity_key, revision)
            WHERE a.activity_key = ANY(\(open.keys.sorted()))
            """
        )
        for (key, revision, text) in try rows.decoded(as: (Int64, Int64, String).self) {
            let content = try JSONValue(parsing: text)
            for version in Set((open[key] ?? []).map(\.version)) {
                let place = Verdicts.Place(activityKey: key, revision: revision, version: version)
                verdicts.isDecoded[place] = after.decodes(content, as: .contentState, version: version)
            }
        }
    }

    // MARK: Whom it concerns

    /// Goes over all rows of app versions that decode another version of the type than before.
    private func eachBatch(
        on query: (Query) async throws -> Rows,
        _ body: ([Follower]) async throws -> Void
    ) async throws {
        let appVersions = try await concerned(on: query)
        guard !appVersions.isEmpty else { return }
        var last: (key: Int64, appVersion: String) = (0, "")
        while true {
            let followers = try await next(after: last, appVersions, on: query)
            guard let end = followers.last else { return }
            last = (end.activityKey, end.appVersion)
            try await body(followers)
        }
    }

    private func concerned(on query: (Query) async throws -> Rows) async throws -> [String] {
        guard after.versions != before else { return [] }
        let rows = try await query(
            """
            SELECT DISTINCT v.app_version FROM activities AS a JOIN activity_app_versions AS v USING (activity_key)
            WHERE \(unescaped: Self.isShown) AND a.bundle_id = \(after.app.rawValue) AND a.type_name = \(after.name.rawValue)
            """
        )
        return try rows.decoded(as: String.self).filter { appVersion in
            before.version(ofApp: AppVersion(appVersion)) != after.version(ofStored: appVersion)
        }
    }

    private func next(
        after last: (key: Int64, appVersion: String),
        _ appVersions: [String],
        on query: (Query) async throws -> Rows
    ) async throws -> [Follower] {
        let rows = try await query(
            """
            SELECT v.activity_key, v.app_version, v.is_withheld, a.revision
            FROM activities AS a JOIN activity_app_versions AS v USING (activity_key)
            WHERE \(unescaped: Self.isShown) AND a.bundle_id = \(after.app.rawValue) AND a.type_name = \(after.name.rawValue)
              AND v.app_version = ANY(\(appVersions)) AND (v.activity_key, v.app_version) > (\(last.key), \(last.appVersion))
            ORDER BY v.activity_key, v.app_version LIMIT \(Self.batchSize)
            """
        )
        return try rows.decoded(as: (Int64, String, Bool, Int64).self).map(Follower.init)
    }

    /// The condition that phones may show the activity `a`, or come to.
    private static let isShown = """
        (a.state <> 'ended' OR a.ended_at > clock_timestamp() - interval '\(ActivitySnapshot.longestCard.components.seconds) seconds')
        """
}

import APITypes
import ActivityModel
import JSON
import Postgres
import Store

/// Some activities of a type in the order of their ids, each with the app versions of the phones that show it or may
/// show it later.
struct FollowerPage: Sendable {
    private struct Follower {
        let activityKey: Int64
        let appVersion: String
        let isWithheld: Bool
        let revision: Revision
    }

    /// Activities looked at by one statement.
    static let size = 200

    private let followers: [Follower]
    /// The id of the last activity; nil: there are no more.
    let last: String?

    /// Reads the page behind an activity id. The order names type and app, though they are the same for all: only one
    /// index has that order, so the plan reads no activity of another type.
    static func read(
        _ type: RegistryCaches.TypeKey,
        after activityID: String,
        on query: (Query) async throws -> Rows
    ) async throws -> FollowerPage {
        let rows = try await query(
            """
            SELECT a.activity_id, a.activity_key, a.revision, v.app_version, v.is_withheld
            FROM (
                SELECT type_name, bundle_id, activity_id, activity_key, revision, ended_at FROM activities
                WHERE (type_name, bundle_id, activity_id) > (\(type.name.rawValue), \(type.app.rawValue), \(activityID))
                ORDER BY type_name, bundle_id, activity_id LIMIT \(unescaped: "\(size)")
            ) AS a
            LEFT JOIN LATERAL (
                SELECT app_version, is_withheld FROM activity_app_versions
                WHERE activity_key = a.activity_key AND NOT \(unescaped: CardLife.isPast("a")) OFFSET 0
            ) AS v ON true
            WHERE a.type_name = \(type.name.rawValue) AND a.bundle_id = \(type.app.rawValue)
            ORDER BY a.activity_id
            """
        )
        var followers: [Follower] = []
        var ids: [String] = []
        for (id, key, revision, appVersion, isWithheld) in try rows.decoded(
            as: (String, Int64, Int64, String?, Bool?).self
        ) {
            if ids.last != id { ids.append(id) }
            guard let appVersion, let isWithheld else { continue }
            followers.append(
                Follower(activityKey: key, appVersion: appVersion, isWithheld: isWithheld, revision: revision)
            )
        }
        return FollowerPage(followers: followers, last: ids.count == size ? ids.last : nil)
    }

    /// Judges the newest states for the app versions that `isConcerned` names.
    ///
    /// - Returns: The rows that have to change, as they have to be.
    func judged(
        by type: TypeContext,
        where isConcerned: (_ appVersion: String) -> Bool = { _ in true },
        on query: (Query) async throws -> Rows
    ) async throws -> [AppVersionRows.New] {
        let concerned = followers.filter { isConcerned($0.appVersion) }
        let revisions = Dictionary(concerned.map { ($0.activityKey, $0.revision) }) { first, _ in first }
        guard !revisions.isEmpty else { return [] }
        let rows = try await query(
            """
            SELECT a.activity_key, c.content_state::text
            FROM unnest(\(Array(revisions.keys)), \(Array(revisions.values))) AS a(activity_key, revision)
            CROSS JOIN LATERAL (
                SELECT content_state FROM changes WHERE activity_key = a.activity_key AND revision = a.revision OFFSET 0
            ) AS c
            """
        )
        let states = try rows.decoded(as: (Int64, String).self).map { ($0, try JSONValue(parsing: $1)) }
        let stateOf = Dictionary(uniqueKeysWithValues: states)
        return concerned.compactMap { follower in
            guard let state = stateOf[follower.activityKey] else { return nil }
            let version = type.version(ofStored: follower.appVersion)
            let isWithheld = !type.decodes(state, as: .contentState, version: version)
            guard isWithheld != follower.isWithheld else { return nil }
            return AppVersionRows.New(
                activityKey: follower.activityKey,
                appVersion: follower.appVersion,
                isWithheld: isWithheld,
                revision: follower.revision
            )
        }
    }
}

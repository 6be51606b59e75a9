import ActivityModel
import JSON
import Postgres
import Store

/// Some activities of a type, the newest first, with the content that new schemas are tried on.
///
/// A registration reads page after page before it locks the type, and the newest page again under the lock.
struct RunningPage: Sendable {
    /// An activity that has not ended.
    struct Activity: Sendable {
        let key: Int64
        let id: String
        let attributes: JSONValue
        let contentState: JSONValue
        /// Anybody may listen to it, whoever has reported.
        let usesChannel: Bool
        /// The app versions whose phones get its states.
        let appVersions: [String]
    }

    /// Activities looked at by one statement, the ended ones included.
    static let size = 200

    let activities: [Activity]
    /// The key of the last activity looked at; nil: there are no more.
    let last: Int64?

    /// Reads the page of activities older than `key`. The order names type and app, though they are the same for all:
    /// only one index has that order, so the plan reads no activity of another type.
    ///
    /// - Throws: ``PostgresError``.
    static func read(
        _ type: RegistryCaches.TypeKey,
        before key: Int64 = .max,
        on query: (Query) async throws -> Rows
    ) async throws -> RunningPage {
        let rows = try await query(
            """
            SELECT a.activity_key, a.activity_id, a.delivery <> 'tokens', a.attributes, c.content_state,
                   ARRAY(SELECT app_version FROM activity_app_versions
                         WHERE activity_key = a.activity_key AND NOT is_withheld ORDER BY app_version)
            FROM (
                SELECT type_name, bundle_id, activity_key, activity_id, revision, state, delivery,
                       CASE WHEN state <> 'ended' THEN attributes::text END AS attributes
                FROM activities
                WHERE (type_name, bundle_id, activity_key) < (\(type.name.rawValue), \(type.app.rawValue), \(key))
                ORDER BY type_name DESC, bundle_id DESC, activity_key DESC LIMIT \(unescaped: "\(size)")
            ) AS a
            LEFT JOIN LATERAL (
                SELECT content_state::text FROM changes
                WHERE activity_key = a.activity_key AND revision = a.revision AND a.state <> 'ended' OFFSET 0
            ) AS c ON true
            WHERE a.type_name = \(type.name.rawValue) AND a.bundle_id = \(type.app.rawValue)
            ORDER BY a.activity_key DESC
            """
        )
        return RunningPage(
            activities: try rows.compactMap(Activity.init),
            last: try rows.count == size ? rows.last?.decode(Int64.self, at: 0) : nil
        )
    }
}

extension RunningPage.Activity {
    /// Nil for one that has ended.
    fileprivate init?(_ row: Row) throws {
        guard let attributes = try row.decode(String?.self, at: 3), let state = try row.decode(String?.self, at: 4)
        else { return nil }
        key = try row.decode(at: 0)
        id = try row.decode(at: 1)
        usesChannel = try row.decode(at: 2)
        self.attributes = try JSONValue(parsing: attributes)
        contentState = try JSONValue(parsing: state)
        appVersions = try row.decode(at: 5)
    }
}

import APITypes
package import ActivityModel
import Cryptography
package import JSON
package import Postgres
package import ReportTypes

/// The rows of `audit_log`.
package enum AuditRows {
    /// The statement that puts an action of the present caller on record; none if Tally acts by itself.
    ///
    /// It belongs into the transaction of the action. `before` and `after` are what the API shows, which holds no
    /// secrets.
    package static func entry(
        _ action: AuditAction,
        of app: BundleID?,
        _ subject: String,
        before: JSONValue? = nil,
        after: JSONValue? = nil
    ) -> [Query] {
        guard let caller = Caller.current else { return [] }
        return [
            """
            INSERT INTO audit_log (key_id, key_name, request_id, action, bundle_id, subject, before, after)
            SELECT c.key_id, (SELECT k.name FROM api_keys AS k WHERE k.api_key_id::text = c.key_id), \(caller.requestID),
                   \(action.rawValue), \(app?.rawValue), \(subject), \(before?.text)::json, \(after?.text)::json
            FROM (SELECT \(caller.keyID) AS key_id) AS c
            """
        ]
    }

    /// How an entry names a user or a device: the log holds nobody's id, but who knows it finds the entry by its hash.
    package static func person(_ id: String) -> String { "sha256:" + Base64URL.encode(SHA256.hash(id)) }

    /// Runs ``entry(_:of:_:before:after:)`` in the transaction of `connection`.
    package static func record(
        _ action: AuditAction,
        of app: BundleID?,
        _ subject: String,
        before: JSONValue? = nil,
        after: JSONValue? = nil,
        on connection: PostgresConnection
    ) async throws {
        let entry = entry(action, of: app, subject, before: before, after: after)
        if !entry.isEmpty { _ = try await connection.pipeline(entry) }
    }
}

package import APITypes
package import ActivityModel
import JSON
import Postgres
import Store

extension Record {
    /// What operators did, the newest first; with `only`, to that app.
    package func audit(_ filter: AuditFilter, _ page: PageRequest, only: BundleID?) async throws -> Page<AuditEntry> {
        let before = try page.position(Int64.self)
        let app = only ?? filter.app
        let rows = try await database.query(
            """
            SELECT entry_id, at, key_id, key_name, request_id, action, bundle_id, subject, before::text, after::text
            FROM audit_log
            WHERE (\(before)::int8 IS NULL OR entry_id < \(before))
              AND (\(app?.rawValue)::text IS NULL OR bundle_id = \(app?.rawValue))
              AND (\(filter.action?.rawValue)::text IS NULL OR action = \(filter.action?.rawValue))
              AND (\(filter.keyID)::text IS NULL OR key_id = \(filter.keyID))
              AND (\(filter.since?.stored)::timestamptz IS NULL OR at >= \(filter.since?.stored))
              AND (\(filter.until?.stored)::timestamptz IS NULL OR at < \(filter.until?.stored))
            ORDER BY entry_id DESC LIMIT \(page.limit + 1)
            """
        )
        let entries = try rows.decoded(
            as: (
                Int64, PGTimestamp, String, String?, String, String, String?, String, String?, String?
            ).self
        ).map { id, at, keyID, keyName, requestID, action, app, subject, before, after in
            AuditEntry(
                id: id,
                at: Instant(at),
                keyID: keyID,
                keyName: keyName,
                requestID: requestID,
                action: action,
                bundleID: app.map { BundleID(stored: $0) },
                subject: subject,
                before: try before.map { try JSONValue(parsing: $0) },
                after: try after.map { try JSONValue(parsing: $0) }
            )
        }
        return .cut(entries, limit: page.limit) { [String($0.id)] }
    }
}

package import APITypes
package import ActivityModel
import JSON
import Postgres
package import ReportTypes
import Store

extension Record {
    /// What operators did, the newest first; with `only`, to that app.
    package func audit(_ filter: AuditFilter, _ page: PageRequest, only: BundleID?) async throws -> Page<AuditEntry> {
        let before = try page.position(in: .audit, Int64.self)
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
        let entries = try rows.map { try Self.auditEntry($0) }
        return .cut(entries, of: .audit, limit: page.limit) { [String($0.id)] }
    }

    private static func auditEntry(_ row: Row) throws -> AuditEntry {
        let app: String? = try row["bundle_id"]
        let before: String? = try row["before"]
        let after: String? = try row["after"]
        return AuditEntry(
            id: try row["entry_id"],
            at: try row["at"],
            keyID: try row["key_id"],
            keyName: try row["key_name"],
            requestID: try row["request_id"],
            action: try row["action"],
            bundleID: app.map { BundleID(stored: $0) },
            subject: try row["subject"],
            before: try before.map { try JSONValue(parsing: $0) },
            after: try after.map { try JSONValue(parsing: $0) }
        )
    }
}

package import APITypes
package import ActivityModel
import JSON
import JSONSchema
import Postgres

extension Orchestrator {
    /// Registers a type, or a new version of it.
    ///
    /// The same schemas again make no version. Without a policy in the request the stored one stays. `force` registers schemas that running
    /// activities do not satisfy.
    ///
    /// - Throws: 404 for an unknown app; 422 for what is not a schema, cannot be imported or does not fit the policy; 409 `incompatible_schema`.
    package func putType(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ request: TypeRequest,
        force: Bool
    ) async throws -> TypeRegistration {
        let schemas = try await TypeSchemas(request.source, of: name, importer)
        let registration = try await database.withTransaction { connection in
            try await requireApp(app, connection)
            let stored = try await Self.lockType(app, name, request.policy ?? Policy(), connection)
            let policy = request.policy ?? stored.policy
            try schemas.check(policy)
            let wanted = WantedType(schemas: schemas, policy: policy, minAppVersion: request.minAppVersion)
            let registration = try await Self.register(app, name, stored, as: wanted, force: force, connection)
            if registration.changed {
                let before = stored.newest.map { Self.auditJSON($0.version, stored.policy, $0.minAppVersion) }
                let after = Self.auditJSON(registration.version, policy, request.minAppVersion)
                try await AuditRows.record(
                    .typeChanged,
                    of: app,
                    name.rawValue,
                    before: before,
                    after: after,
                    on: connection
                )
            }
            return registration
        }
        registry.types.remove(RegistryCaches.TypeKey(app: app, name: name))
        return registration
    }

    private struct WantedType {
        let schemas: TypeSchemas
        let policy: Policy
        let minAppVersion: AppVersion?
    }

    private static func register(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ stored: (policy: Policy, newest: StoredVersion?),
        as wanted: WantedType,
        force: Bool,
        _ connection: PostgresConnection
    ) async throws -> TypeRegistration {
        guard let newest = stored.newest else {
            try await insertVersion(1, app, name, wanted.schemas, wanted.minAppVersion, connection)
            return TypeRegistration(
                version: 1,
                changed: true,
                lint: wanted.schemas.lint,
                compatibility: .init(compatible: true)
            )
        }
        return try await changeType(app, name, from: stored.policy, newest, to: wanted, force: force, connection)
    }

    /// A type as the audit log shows it. Its schemas are kept by version.
    private static func auditJSON(_ version: Int, _ policy: Policy, _ minAppVersion: AppVersion?) -> JSONValue {
        var type: JSONObject = ["version": .number(JSONNumber(version)), "policy": policy.json]
        type["min_app_version"] = minAppVersion.map { .string($0.description) }
        return .object(type)
    }

    private static func changeType(
        _ app: BundleID,
        _ name: ActivityTypeName,
        from policy: Policy,
        _ newest: StoredVersion,
        to wanted: WantedType,
        force: Bool,
        _ connection: PostgresConnection
    ) async throws -> TypeRegistration {
        let newSchemas =
            newest.attributes != wanted.schemas.attributesDocument
            || newest.contentState != wanted.schemas.contentStateDocument
        let newLeast = newest.minAppVersion != wanted.minAppVersion
        guard newSchemas || newLeast || policy != wanted.policy else {
            return TypeRegistration(
                version: newest.version,
                changed: false,
                lint: wanted.schemas.lint,
                compatibility: .init(compatible: true)
            )
        }
        var version = newest.version
        var findings: [SchemaFinding] = []
        if newSchemas {
            findings = try await breaks(app, name, wanted.schemas, connection)
            if !findings.isEmpty, !force { throw refusal(findings) }
            version += 1
            try await insertVersion(version, app, name, wanted.schemas, wanted.minAppVersion, connection)
        } else if newLeast {
            _ = try await connection.execute(
                """
                UPDATE type_versions SET min_app_version = \(wanted.minAppVersion?.description)
                WHERE bundle_id = \(app.rawValue) AND type_name = \(name.rawValue) AND version = \(Int32(version))
                """
            )
        }
        _ = try await connection.execute(
            """
            UPDATE activity_types SET policy = \(wanted.policy.json.text)::json, updated_at = clock_timestamp()
            WHERE bundle_id = \(app.rawValue) AND type_name = \(name.rawValue)
            """
        )
        return TypeRegistration(
            version: version,
            changed: true,
            lint: wanted.schemas.lint,
            compatibility: .init(compatible: findings.isEmpty, findings: findings)
        )
    }

    private static func insertVersion(
        _ version: Int,
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ schemas: TypeSchemas,
        _ minAppVersion: AppVersion?,
        _ connection: PostgresConnection
    ) async throws {
        _ = try await connection.execute(
            """
            INSERT INTO type_versions
                (bundle_id, type_name, version, attributes_schema, content_state_schema, min_app_version)
            VALUES (\(app.rawValue), \(name.rawValue), \(Int32(version)), \(schemas.attributesDocument.text)::json,
                    \(schemas.contentStateDocument.text)::json, \(minAppVersion?.description))
            """
        )
    }

    // MARK: The stored type

    private struct StoredVersion {
        let version: Int
        let attributes: JSONValue
        let contentState: JSONValue
        let minAppVersion: AppVersion?
    }

    /// The type with its newest version, locked against other registrations until the transaction ends; made with `policy` and without
    /// a version if there is none.
    private static func lockType(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ policy: Policy,
        _ connection: PostgresConnection
    ) async throws -> (policy: Policy, newest: StoredVersion?) {
        _ = try await connection.execute(
            """
            INSERT INTO activity_types (bundle_id, type_name, policy)
            VALUES (\(app.rawValue), \(name.rawValue), \(policy.json.text)::json) ON CONFLICT DO NOTHING
            """
        )
        let types = try await connection.query(
            """
            SELECT policy::text FROM activity_types
            WHERE bundle_id = \(app.rawValue) AND type_name = \(name.rawValue) FOR NO KEY UPDATE
            """
        )
        guard let stored = try types.single(String.self) else { throw Problem.notFound("the app") }
        // A statement of its own: it sees what the lock waited for.
        let versions = try await connection.query(
            """
            SELECT version, attributes_schema::text, content_state_schema::text, min_app_version FROM type_versions
            WHERE bundle_id = \(app.rawValue) AND type_name = \(name.rawValue) ORDER BY version DESC LIMIT 1
            """
        )
        let newest = try versions.first(as: (Int32, String, String, String?).self)
        return (
            policy: try Policy(json: JSONValue(parsing: stored)),
            newest: try newest.map { version, attributes, contentState, least in
                StoredVersion(
                    version: Int(version),
                    attributes: try JSONValue(parsing: attributes),
                    contentState: try JSONValue(parsing: contentState),
                    minAppVersion: least.flatMap { AppVersion($0) }
                )
            }
        )
    }

    // MARK: Compatibility

    /// The most running activities that a new version is tried on.
    private static let triedActivities = 1000

    /// What running activities hold that the new schemas refuse, by schema keyword: their attributes, which never change, and their newest
    /// state. Tried on the ``triedActivities`` newest activities; each broken keyword is reported once.
    private static func breaks(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ schemas: TypeSchemas,
        _ connection: PostgresConnection
    ) async throws -> [SchemaFinding] {
        let rows = try await connection.query(
            """
            SELECT a.activity_id, a.attributes::text, c.content_state::text
            FROM activities AS a JOIN changes AS c USING (activity_key, revision)
            WHERE a.bundle_id = \(app.rawValue) AND a.type_name = \(name.rawValue) AND a.state <> 'ended'
            ORDER BY a.activity_key DESC LIMIT \(triedActivities)
            """
        )
        var findings: [SchemaFinding] = []
        var seen: Set<SchemaFinding.Place> = []
        for (activity, attributes, contentState) in try rows.decoded(as: (String, String, String).self) {
            let violations =
                schemas.attributes.validate(try JSONValue(parsing: attributes)).map { (SchemaPart.attributes, $0) }
                + schemas.contentState.validate(try JSONValue(parsing: contentState)).map { (.contentState, $0) }
            for (part, violation) in violations
            where seen.insert(.init(part: part, pointer: violation.schema)).inserted {
                findings.append(
                    SchemaFinding(
                        part: part,
                        pointer: violation.schema,
                        code: violation.keyword,
                        message: "the activity '\(activity)' does not satisfy it: \(violation.message)"
                    )
                )
            }
        }
        return findings
    }

    private static func refusal(_ findings: [SchemaFinding]) -> Problem {
        .incompatibleSchema(
            findings.map { finding in
                FieldError(
                    pointer: JSONPointer(tokens: [finding.part.rawValue + "_schema"])
                        .appending(contentsOf: finding.pointer),
                    code: finding.code,
                    message: finding.message
                )
            }
        )
    }
}

extension SchemaFinding {
    /// Where in the two schemas.
    fileprivate struct Place: Hashable {
        let part: SchemaPart
        let pointer: JSONPointer
    }
}

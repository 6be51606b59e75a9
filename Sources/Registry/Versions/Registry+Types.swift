package import APITypes
package import ActivityModel
import Cards
import JSON
import JSONSchema
import Postgres
import ReportTypes
import Store

extension Registry {
    /// Registers a type, or a new version of it.
    ///
    /// The same schemas again make no version. Without a policy in the request the stored one stays. `force` registers
    /// schemas that running activities do not satisfy.
    ///
    /// - Throws: 404 for an unknown app; 422 for schemas that are invalid, cannot be imported or do not fit the policy;
    ///   409 `incompatible_schema`.
    package func putType(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ request: TypeRequest,
        force: Bool
    ) async throws -> TypeRegistration {
        let schemas = try await TypeSchemas(request.source, of: name, importer)
        let registration = try await withCurrentType {
            try await register(app, name, schemas, request, force: force)
        }
        let type = RegistryCaches.TypeKey(app: app, name: name)
        caches.types.remove(type)
        try await Rejudgement(registry: self, type: type).run()
        return registration
    }

    /// - Throws: ``OutdatedType`` if somebody else has changed its versions meanwhile; try again then.
    private func register(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ schemas: TypeSchemas,
        _ request: TypeRequest,
        force: Bool
    ) async throws -> TypeRegistration {
        let foreseen = try await foresee(app, name, schemas, minAppVersion: request.minAppVersion)
        return try await database.withTransaction { connection in
            try await store.holdApp(app, connection)
            let stored = try await Self.lockType(app, name, request.policy ?? Policy(), connection)
            let policy = request.policy ?? stored.policy
            try schemas.check(policy)
            let wanted = WantedType(
                schemas: schemas,
                policy: policy,
                minAppVersion: request.minAppVersion,
                foreseen: foreseen
            )
            let registration = try await Self.register(app, name, stored, as: wanted, force: force, connection)
            if registration.changed {
                let before = stored.newest.map { Self.auditJSON($0.number, stored.policy, $0.minAppVersion) }
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
    }

    private struct WantedType {
        let schemas: TypeSchemas
        let policy: Policy
        let minAppVersion: AppVersion?
        let foreseen: VersionForesight?
    }

    private static func register(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ stored: StoredType,
        as wanted: WantedType,
        force: Bool,
        _ connection: PostgresConnection
    ) async throws -> TypeRegistration {
        guard stored.versions != nil else {
            try await insertVersion(1, app, name, wanted.schemas, wanted.minAppVersion, connection)
            return TypeRegistration(
                version: 1,
                changed: true,
                lint: wanted.schemas.lint,
                compatibility: .init(compatible: true)
            )
        }
        return try await changeType(app, name, from: stored, to: wanted, force: force, connection)
    }

    /// A type as the audit log shows it. Its schemas are kept by version.
    static func auditJSON(_ version: Int, _ policy: Policy, _ minAppVersion: AppVersion?) -> JSONValue {
        var type: JSONObject = ["version": .number(JSONNumber(version)), "policy": policy.json]
        type["min_app_version"] = minAppVersion.map { .string($0.description) }
        return .object(type)
    }

    private static func changeType(
        _ app: BundleID,
        _ name: ActivityTypeName,
        from stored: StoredType,
        to wanted: WantedType,
        force: Bool,
        _ connection: PostgresConnection
    ) async throws -> TypeRegistration {
        guard let newest = stored.newest, let versions = stored.versions else { throw Problem.internalError() }
        let newSchemas =
            newest.attributes != wanted.schemas.attributesDocument
            || newest.contentState != wanted.schemas.contentStateDocument
        let newLeast = newest.minAppVersion != wanted.minAppVersion
        guard newSchemas || newLeast || stored.policy != wanted.policy else {
            return TypeRegistration(
                version: newest.number,
                changed: false,
                lint: wanted.schemas.lint,
                compatibility: .init(compatible: true)
            )
        }
        var version = newest.number
        var findings: [SchemaFinding] = []
        if newSchemas || newLeast {
            guard let foreseen = wanted.foreseen, foreseen.before == versions else {
                throw OutdatedType(type: RegistryCaches.TypeKey(app: app, name: name))
            }
            findings = try await accept(foreseen, of: app, name, force: force, connection)
            if newSchemas {
                version += 1
                try await insertVersion(version, app, name, wanted.schemas, wanted.minAppVersion, connection)
            } else {
                try await storeLeastVersion(wanted.minAppVersion, of: version, app, name, connection)
            }
            _ = try await connection.execute(Rejudgement.note(app, name))
        }
        try await storePolicy(wanted.policy, app, name, connection)
        return TypeRegistration(
            version: version,
            changed: true,
            lint: wanted.schemas.lint,
            compatibility: .init(
                compatible: !findings.contains { $0.severity == .breaking },
                findings: findings
            )
        )
    }

    /// The findings of a change of the versions for running activities.
    ///
    /// - Throws: 409 `incompatible_schema` if it would break a running activity, unless forced.
    private static func accept(
        _ foreseen: VersionForesight,
        of app: BundleID,
        _ name: ActivityTypeName,
        force: Bool,
        _ connection: PostgresConnection
    ) async throws -> [SchemaFinding] {
        var findings: [SchemaFinding] = []
        var breaks = !foreseen.withheld.isEmpty
        if var compatibility = foreseen.compatibility {
            // Adds the activities that were started after the look ahead. No more can start, now that the type is
            // locked.
            let type = RegistryCaches.TypeKey(app: app, name: name)
            compatibility.add(try await RunningPage.read(type) { try await connection.query($0) })
            findings = compatibility.findings
            breaks = breaks || (compatibility.isRunning && findings.contains { $0.severity == .breaking })
        }
        findings += foreseen.withheld.sorted().map { SchemaFinding(withheldFrom: $0) }
        if breaks, !force { throw Problem.incompatibleSchema(findings.map(\.fieldError)) }
        return findings
    }

    // MARK: Rows

    static func storePolicy(
        _ policy: Policy,
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ connection: PostgresConnection
    ) async throws {
        _ = try await connection.execute(
            """
            UPDATE activity_types SET policy = \(policy.json.text)::json, updated_at = clock_timestamp()
            WHERE bundle_id = \(app.rawValue) AND type_name = \(name.rawValue)
            """
        )
    }

    private static func storeLeastVersion(
        _ least: AppVersion?,
        of version: Int,
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ connection: PostgresConnection
    ) async throws {
        _ = try await connection.execute(
            """
            UPDATE type_versions SET min_app_version = \(least?.description)
            WHERE bundle_id = \(app.rawValue) AND type_name = \(name.rawValue) AND version = \(Int32(version))
            """
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
        let number: Int
        let attributes: JSONValue
        let contentState: JSONValue
        let minAppVersion: AppVersion?
    }

    private struct StoredType {
        let policy: Policy
        /// Oldest first.
        let all: [StoredVersion]
        /// Nil before the first version.
        let versions: TypeVersions?

        var newest: StoredVersion? { all.last }
    }

    /// Reads the type with its versions, and locks it until the transaction ends against all who decide by it. If the
    /// type does not exist, makes it with `policy` and without a version.
    private static func lockType(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ policy: Policy,
        _ connection: PostgresConnection
    ) async throws -> StoredType {
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
            WHERE bundle_id = \(app.rawValue) AND type_name = \(name.rawValue) ORDER BY version
            """
        )
        return StoredType(
            policy: try Policy.stored(stored),
            all: try versions.decoded(as: (Int32, String, String, String?).self).map {
                version,
                attributes,
                contentState,
                least in
                StoredVersion(
                    number: Int(version),
                    attributes: try JSONValue(parsing: attributes),
                    contentState: try JSONValue(parsing: contentState),
                    minAppVersion: least.flatMap { AppVersion($0) }
                )
            },
            versions: try await TypeVersionRows.rule(app, name, on: connection)
        )
    }
}

extension SchemaFinding {
    /// Running activities whose newest state apps of a version could decode so far, or were believed to.
    fileprivate init(withheldFrom appVersion: String) {
        self.init(
            part: .contentState,
            pointer: JSONPointer(),
            code: CardVersions.reason,
            message:
                "\(Following.apps(appVersion)) follow running activities and could not decode the newest state: it would be withheld from them",
            severity: .breaking
        )
    }
}

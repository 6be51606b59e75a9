package import APITypes
package import ActivityModel
import Cards
package import Postgres

/// The app versions that an audience has now: whom a start would go to.
package enum AudienceVersions {
    /// Each once. The empty text means apps that do not report a version.
    package static func read(
        _ audience: Audience,
        of app: BundleID,
        _ environment: APNSEnvironment,
        from database: Database
    ) async throws -> [String] {
        var statements: [Query] = []
        // Followers may be anybody. Their versions are not read one by one.
        if audience.allOfType || !audience.topics.isEmpty { statements.append(all(of: app, environment)) }
        if !audience.users.isEmpty || !audience.devices.isEmpty {
            statements.append(named(in: audience, of: app, environment))
        }
        guard !statements.isEmpty else { return [] }
        var versions: Set<String> = []
        for rows in try await database.pipeline(statements) {
            versions.formUnion(try rows.decoded(as: String.self))
        }
        return versions.sorted()
    }

    private static func named(in audience: Audience, of app: BundleID, _ environment: APNSEnvironment) -> Query {
        """
        SELECT DISTINCT \(unescaped: CardVersions.appVersion) FROM devices AS d
        WHERE d.bundle_id = \(app.rawValue) AND d.environment = \(environment.rawValue)::apns_environment
          AND (d.device_id = ANY(\(audience.devices.map(\.rawValue))) OR d.user_id = ANY(\(audience.users.map(\.rawValue))))
        """
    }

    /// Goes from one app version to the next in the index: there may be millions of devices, but not of versions.
    private static func all(of app: BundleID, _ environment: APNSEnvironment) -> Query {
        """
        WITH RECURSIVE step(app_version) AS (
            SELECT min(app_version) FROM devices
            WHERE bundle_id = \(app.rawValue) AND environment = \(environment.rawValue)::apns_environment
            UNION ALL
            SELECT (
                SELECT min(d.app_version) FROM devices AS d
                WHERE d.bundle_id = \(app.rawValue) AND d.environment = \(environment.rawValue)::apns_environment
                  AND d.app_version > step.app_version
            ) FROM step WHERE step.app_version IS NOT NULL
        )
        SELECT app_version FROM step WHERE app_version IS NOT NULL
        UNION ALL
        SELECT '' WHERE EXISTS (
            SELECT FROM devices
            WHERE bundle_id = \(app.rawValue) AND environment = \(environment.rawValue)::apns_environment
              AND app_version IS NULL OFFSET 0
        )
        """
    }
}

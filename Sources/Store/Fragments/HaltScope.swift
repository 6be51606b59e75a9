package import ActivityModel
package import Postgres

/// What a halt is for.
package struct HaltScope: Hashable, Sendable {
    package let app: BundleID
    package let environment: APNSEnvironment

    package init(app: BundleID, environment: APNSEnvironment) {
        self.app = app
        self.environment = environment
    }

    /// The condition that a row is of this app and environment. `row`: its name in the statement.
    package func contains(_ row: String) -> Query {
        """
        \(unescaped: row).bundle_id = \(app.rawValue)
        AND \(unescaped: row).environment = \(environment.rawValue)::apns_environment
        """
    }
}

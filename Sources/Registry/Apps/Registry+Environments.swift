import APITypes
package import ActivityModel
import JSON
package import Postgres
import Store

extension Registry {
    /// The environment that a request means: its own, else production if the app has it, else the only one.
    ///
    /// - Throws: 404 for an unknown app; 422 for an environment without a signing key.
    package func environment(_ requested: APNSEnvironment?, of app: BundleID) async throws -> APNSEnvironment {
        try Self.environment(requested, in: await database.query(Self.environments(of: app)))
    }

    /// The statement that reads the environments of an app. ``environment(_:in:)`` reads its rows.
    package static func environments(of app: BundleID) -> Query {
        """
        SELECT k.environment::text FROM apps AS p LEFT JOIN signing_keys AS k USING (bundle_id)
        WHERE p.bundle_id = \(app.rawValue)
        """
    }

    /// The same as ``environment(_:of:)``, from rows that another transaction or pipeline has read.
    package static func environment(_ requested: APNSEnvironment?, in rows: Rows) throws -> APNSEnvironment {
        let words = try rows.decoded(as: String?.self)
        guard !words.isEmpty else { throw Problem.notFound("the app") }
        let configured = try words.compactMap { $0 }.map { word -> APNSEnvironment in try .stored(word) }
        let environment = requested ?? (configured.contains(.production) ? .production : configured.first)
        guard let environment, configured.contains(environment) else {
            throw Problem.invalidRequest(
                pointer: JSONPointer().appending("environment"),
                code: FieldError.invalidValue,
                message: "The app has no key for this environment."
            )
        }
        return environment
    }
}

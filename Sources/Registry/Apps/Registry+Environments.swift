import APITypes
package import ActivityModel
import Postgres
import Store

extension Registry {
    /// The environment that a request means: its own, else production if the app has it, else the only one. `place`
    /// leads to it in the body, by names from the outside in.
    ///
    /// - Throws: 404 for an unknown app; 422 for an environment without a signing key.
    package func environment(
        _ requested: APNSEnvironment?,
        of app: BundleID,
        at place: [String] = ["environment"]
    ) async throws -> APNSEnvironment {
        let rows = try await database.query(
            """
            SELECT k.environment::text FROM apps AS p LEFT JOIN signing_keys AS k USING (bundle_id)
            WHERE p.bundle_id = \(app.rawValue)
            """
        )
        let words = try rows.decoded(as: String?.self)
        let configured = try words.compactMap { $0 }.map { word -> APNSEnvironment in try .stored(word) }
        return try Self.environment(requested, among: words.isEmpty ? nil : configured, at: place)
    }

    /// The same, among those that the app has keys for; nil if there is no such app.
    package static func environment(
        _ requested: APNSEnvironment?,
        among configured: [APNSEnvironment]?,
        at place: [String] = ["environment"]
    ) throws -> APNSEnvironment {
        guard let configured else { throw Problem.notFound("the app") }
        let environment = requested ?? (configured.contains(.production) ? .production : configured.first)
        guard let environment, configured.contains(environment) else {
            throw Problem.invalidRequest(at: place, "The app has no key for this environment.")
        }
        return environment
    }
}

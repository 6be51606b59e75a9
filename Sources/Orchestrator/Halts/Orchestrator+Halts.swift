import APITypes
package import ActivityModel
import Postgres

extension Orchestrator {
    /// Lets sending for an app and environment go on that was halted because APNs rejected too many tokens (promise 9).
    ///
    /// `reviving`: whether tokens that were rejected on the way to the halt are tried again. Without it they stay rejected
    /// until their apps report them anew, for a registry that really is full of bad ones.
    ///
    /// - Throws: 404 if nothing is halted there.
    package func liftHalt(_ app: BundleID, _ environment: APNSEnvironment, reviving: Bool) async throws {
        let scope = HaltScope(app: app, environment: environment)
        guard try await halts.lift(scope, because: "operator", reviving: reviving) else {
            throw Problem.notFound("the halt")
        }
        wakeUps.signal()
    }

    /// What operators should look at, although the daemon works; for `/health/ready`.
    package func warnings() async throws -> [String] {
        let rows = try await database.query(
            """
            SELECT bundle_id, environment::text, answers, rejections FROM sending_halts ORDER BY bundle_id, environment
            """,
            timeout: .seconds(2)
        )
        let halts = try rows.decoded(as: (String, String, Int32, Int32).self).map {
            app,
            environment,
            answers,
            rejections in
            """
            Sending for \(app) (\(environment)) is halted: \(rejections) of \(answers) answers within a minute were rejections \
            of tokens. Look at key, host and topic.
            """
        }
        return halts + [skews.warning].compactMap(\.self)
    }
}

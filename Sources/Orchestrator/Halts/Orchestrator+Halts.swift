import APITypes
package import ActivityModel
import Postgres
import Store

extension Orchestrator {
    /// Lets sending for an app and environment go on that was halted because APNs rejected too many tokens (promise 9).
    ///
    /// `reviving`: whether tokens that were rejected on the way to the halt are tried again. Without it they stay
    /// rejected until their apps report them anew, for a registry that really is full of bad ones.
    ///
    /// - Throws: 404 if nothing is halted there.
    package func liftHalt(_ app: BundleID, _ environment: APNSEnvironment, reviving: Bool) async throws {
        let scope = HaltScope(app: app, environment: environment)
        guard try await halts.lift(scope, because: "operator", reviving: reviving) else {
            throw Problem.notFound("the halt")
        }
        wakeUps.signal()
    }

    /// What operators should look at, although the daemon works; for `/health/ready`, which anybody may read: it names
    /// no app.
    package func warnings() async throws -> [String] {
        let rows = try await database.query("SELECT count(*) FROM sending_halts", timeout: .seconds(2))
        let halts = try rows.single(Int64.self) ?? 0
        let halted = """
            Sending is halted for \(halts) \(halts == 1 ? "environment of an app" : "environments of apps"): too many answers \
            were rejections of tokens. 'tally doctor' says which.
            """
        return (halts > 0 ? [halted] : []) + [skews.warning].compactMap(\.self)
    }
}

package import APITypes
package import ActivityModel
import Postgres
import Store

extension DeliveryStore {
    /// Resumes sending for an app and environment. APNs had rejected too many tokens there (promise 9).
    ///
    /// With very many rejected tokens it returns before sending resumes, and ``HaltPatrol`` does the rest.
    ///
    /// `reviving`: whether tokens that were rejected on the way to the halt are tried again. Without it they stay
    /// rejected until their apps report them again. That is for a registry that is really full of bad tokens.
    ///
    /// - Throws: 404 if nothing is halted there.
    package func liftHalt(_ app: BundleID, _ environment: APNSEnvironment, reviving: Bool) async throws {
        let scope = HaltScope(app: app, environment: environment)
        guard try await halts.lift(scope, because: "operator", reviving: reviving) else {
            throw Problem.notHalted()
        }
        wakeUps.signal()
    }

    /// The environments of an app for which sending is halted.
    ///
    /// - Throws: 404 for an unknown app; 422 for a cursor of another list.
    package func halts(of app: BundleID, _ page: PageRequest) async throws -> Page<HaltResource> {
        let after = try page.position(in: .halts, APNSEnvironment.self)
        let rows = try await database.query(
            """
            SELECT environment::text, halted_at, answers, rejections, probes, probe_at, lifting IS NOT NULL AS is_resuming
            FROM sending_halts
            WHERE bundle_id = \(app.rawValue) AND environment::text > \(after?.rawValue ?? "")
            ORDER BY environment::text LIMIT \(page.limit + 1)
            """
        )
        if rows.isEmpty { try await store.requireApp(app) }
        let halts = try rows.map { row in
            try HaltResource(
                environment: .stored(row["environment"]),
                haltedAt: row["halted_at"],
                answers: row["answers"],
                rejections: row["rejections"],
                probes: row["probes"],
                nextProbeAt: row["probe_at"],
                isResuming: row["is_resuming"]
            )
        }
        return .cut(halts, of: .halts, limit: page.limit) { [$0.environment.rawValue] }
    }

    /// Warnings for operators while the daemon works. They go to `/health/ready`, which anybody may read, so they name
    /// no app.
    ///
    /// Over within 3 seconds: probes of load balancers wait little longer. All connections of the pool may be in use.
    ///
    /// - Throws: What keeps this daemon from its work, also that the database is read-only.
    package func warnings() async throws -> [String] {
        let rows = try await database.look(
            "SELECT count(*), current_setting('transaction_read_only') = 'on' FROM sending_halts",
            within: .seconds(3)
        )
        let (halts, isReadOnly): (Int64, Bool) = try rows.first(as: (Int64, Bool).self) ?? (0, false)
        if isReadOnly { throw PostgresError(.server, sqlState: "25006") }
        let halted = """
            Sending is halted for \(halts) \(halts == 1 ? "environment of an app" : "environments of apps"): too many answers \
            were rejections of tokens. 'tally doctor' says which.
            """
        let refusal = database.writes.current().map { "\($0.meaning) Posts may fail. 'tally doctor' says what to do." }
        let others = [refusal, store.masterKeyWatch.warning, store.skews.warning]
        return (halts > 0 ? [halted] : []) + others.compactMap(\.self)
    }
}

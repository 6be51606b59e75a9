import APITypes
import BenchSupport
import JSON
import Orchestrator
import Postgres

/// Updates of many activities that are all due at the same moment.
struct DueSchedules: Sendable {
    private let options: Options
    private let count: Int

    struct Result: Encodable {
        let schedules: Int
        /// From the moment at which they were due to when the last was settled.
        let secondsToFireAll: Double
        /// From that moment to the answer to the last push.
        let secondsToPushAll: Double
        /// How long after its time each was settled, in milliseconds.
        let lateness: [String: Double]
        let accepted: Int
    }

    init(_ options: Options) throws {
        self.options = options
        count = try options.number("count")
    }

    func run() async throws -> Result {
        let daemon = try Daemon(options)
        return try await daemon.whileServing {
            let scene = Scene(orchestrator: daemon.orchestrator)
            try await scene.prepareSingles(count, copied: true)
            try await scene.addSchedules()
            try await scene.rest()
            daemon.sender.reset()
            _ = await daemon.sender.waitForAnswers(count)
            return try await read(daemon.orchestrator.database, accepted: count - daemon.sender.refused)
        }
    }

    private func read(_ database: Database, accepted: Int) async throws -> Result {
        let rows = try await database.query(
            """
            SELECT count(*) FILTER (WHERE state = 'done'), (max(extract(epoch FROM settled_at - due_at)))::float8,
                   extract(epoch FROM clock_timestamp() - max(due_at))::float8,
                   percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM settled_at - due_at)::float8 * 1000),
                   percentile_cont(0.99) WITHIN GROUP (ORDER BY extract(epoch FROM settled_at - due_at)::float8 * 1000)
            FROM schedules
            """
        )
        guard
            let (done, fired, pushed, p50, p99) = try rows.first(as: (Int64, Double, Double, Double, Double).self),
            done == count
        else { throw Mistake("not all schedules have run") }
        return Result(
            schedules: count,
            secondsToFireAll: fired,
            secondsToPushAll: pushed,
            lateness: ["p50": p50, "p99": p99],
            accepted: accepted
        )
    }
}

extension Scene {
    /// An update of every activity, all due at the same moment, when everything has come to rest.
    func addSchedules() async throws {
        let body = UpdateRequest(contentState: Self.state(1)).json.text
        _ = try await orchestrator.database.execute(
            """
            INSERT INTO schedules (activity_key, bundle_id, kind, due_at, body)
            SELECT activity_key, bundle_id, 'update', now() + interval '45 seconds', \(body)::json FROM activities
            """,
            timeout: .seconds(120)
        )
    }
}

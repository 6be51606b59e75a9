import ActivityModel
import OrchestratorTestSupport
import Postgres
import Testing

@Suite("Looking up", .timeLimit(.minutes(2)))
struct LookUpTests {
    /// Plans are made once and kept, so what the planner knows of an empty table decides for the first busy minute.
    @Test(
        "An activity is found by its id through the index of ids, though nobody has counted the activities",
        arguments: ["auto", "force_generic_plan"]
    )
    func activityByID(mode: String) async throws {
        try await withWorld { world in
            let plan = try await world.database.withTransaction { connection in
                _ = try await connection.query("SELECT set_config('plan_cache_mode', \(mode), true)")
                return try await connection.query(
                    """
                    EXPLAIN SELECT state FROM activities
                    WHERE bundle_id = \("com.example.app") AND activity_id = \("final")
                    """
                ).decoded(as: String.self)
            }
            #expect(plan.contains { $0.contains("activities_bundle_id_activity_id_key") }, "\(plan)")
        }
    }
}

import APITypes
import OrchestratorTestSupport
import Testing

@Suite("The first crowd of an installation", .timeLimit(.minutes(2)))
struct FirstCrowdTests {
    @Test("By plans from before it came, a registration and a report read their own rows only")
    func plans() async throws {
        try await withWorld(connections: 1) { world in
            try await world.start()
            // Made while the tables were empty, and kept by the connection.
            try await world.register("d1", token: "5a01")
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.crowd(5_000)
            func read(_ body: () async throws -> Void) async throws -> Int64 {
                let before = try await world.rowsRead("devices") + world.rowsRead("subscriptions")
                try await body()
                return try await world.rowsRead("devices") + world.rowsRead("subscriptions") - before
            }
            #expect(try await read { try await world.register("d1", token: "5a02") } < 200)
            #expect(try await read { _ = try await world.follow("d1", token: "aa02", known: 1) } < 200)
        }
    }
}

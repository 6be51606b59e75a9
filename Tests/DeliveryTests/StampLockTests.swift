import DeliveryStore
import OrchestratorTestSupport
import Postgres
import Testing

@testable import Orchestrator

@Suite("Rows are locked in one order by whoever stamps a change", .timeLimit(.minutes(2)))
struct StampLockTests {
    /// What a ring has sent it stores with the changes first, then its own row, which who wakes several rings may wait
    /// to hold.
    @Test("its own row before that of its ring")
    func changeBeforeRing() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("phone", token: "aa01", known: 1)
            try await world.settle()
            try await world.update(score: 1)
            let lease = try #require(try await world.orchestrator.deliveryStore.segments.claim(limit: 1).first)
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await world.database.withTransaction { connection in
                    _ = try await connection.query("SELECT FROM changes WHERE revision = 2 FOR NO KEY UPDATE")
                    group.addTask {
                        let change = try await world.orchestrator.deliveryStore.changes.stamped(
                            2,
                            under: lease,
                            anew: true
                        )
                        #expect(change?.revision == 2)
                    }
                    try await world.someoneWaits()
                    let rings = try await connection.query("SELECT 1 FROM segments FOR NO KEY UPDATE SKIP LOCKED")
                    #expect(rings.count == 1)
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("Who comes second to stamp a change sends it under the first one's stamp")
    func once() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("phone", token: "aa01", known: 1)
            try await world.settle()
            try await world.exhaustStamps()
            #expect(try await world.update(score: 1).timestamp == nil)
            try await world.pass(5)
            let lease = try #require(try await world.orchestrator.deliveryStore.segments.claim(limit: 1).first)
            let stamps = try await world.database.withTransaction { connection in
                _ = try await connection.query("SELECT FROM activities FOR UPDATE")
                let stamps = (1...2).map { _ in
                    Task { try await world.orchestrator.deliveryStore.changes.stamped(2, under: lease)?.timestamp }
                }
                try await world.someoneWaits(atLeast: 2)
                return stamps
            }
            #expect(try await stamps[0].value != nil)
            #expect(try await stamps[0].value == stamps[1].value)
        }
    }
}

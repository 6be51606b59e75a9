import APITypes
import ActivityModel
import Channels
import OrchestratorTestSupport
import Postgres
import Store
import Testing

@testable import Intake
@testable import Orchestrator

@Suite("Cards are locked in one order", .timeLimit(.minutes(2)))
struct CardLockTests {
    /// Holds the card of the first device until `work` waits for it, and expects that no other card is held by then.
    private func holdingFirst(_ world: World, _ work: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            try await world.database.withTransaction { connection in
                let first: Query = "SELECT min(device_key) FROM subscriptions"
                let key = try #require(try await connection.query(first).single(Int64?.self) ?? nil)
                _ = try await connection.query("SELECT FROM subscriptions WHERE device_key = \(key) FOR UPDATE")
                group.addTask { try await work() }
                try await world.someoneWaits()
                let others = try await connection.query(
                    "SELECT 1 FROM subscriptions WHERE device_key > \(key) FOR UPDATE SKIP LOCKED"
                )
                let count = try await connection.query("SELECT count(*) FROM subscriptions").single(Int64.self)
                #expect(others.count + 1 == count ?? 0)
            }
            try await group.waitForAll()
        }
    }

    @Test("by reports of all kinds")
    func reports() async throws {
        try await withWorld { world in
            try await world.start()
            for number in 1...5 { try await world.follow("d\(number)", token: "aa0\(number)", known: 1) }
            try await world.settle()
            let reports: [(SubscriptionRequest.Report, generation: Int64?, known: Revision?)] = [
                (.ended, 1, nil), (.ended, nil, nil),
                (.updateToken(try #require(PushToken(hex: "bb03"))), 1, nil),
                (.updateToken(try #require(PushToken(hex: "bb04"))), nil, nil),
                (.updateToken(try #require(PushToken(hex: "bb05"))), nil, 1),
            ]
            let cards = reports.enumerated().map { place, report in
                ReportedCard(
                    app: world.app,
                    activity: ActivityID(stored: "final"),
                    device: DeviceID(stored: "d\(place + 1)"),
                    request: SubscriptionRequest(report.0, generation: report.generation, knownRevision: report.known)
                )
            }
            try await holdingFirst(world) {
                for answer in await world.orchestrator.intake.accept(cards) { _ = try answer.get() }
            }
        }
    }

    @Test("or, where somebody takes a card before its device, the report gives way and is taken all the same")
    func yieldingReport() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await world.database.withTransaction { other in
                    // It is the report that finds out.
                    _ = try await other.query("SELECT set_config('deadlock_timeout', '1 min', true)")
                    _ = try await other.query("SELECT FROM subscriptions FOR NO KEY UPDATE")
                    group.addTask { try await world.follow("d1", token: "aa02", known: 1) }
                    try await world.someoneWaits()
                    _ = try await other.query("SELECT FROM devices FOR NO KEY UPDATE")
                }
                try await group.waitForAll()
            }
            #expect(try await world.word("SELECT encode(update_token, 'hex') FROM subscriptions") == "aa02")
        }
    }

    @Test("by a worker that has served some by their own rows, whichever was due first")
    func catchUp() async throws {
        try await withWorld { world in
            try await world.start()
            for number in 1...3 { try await world.follow("d\(number)", token: "aa0\(number)") }
            try await world.database.execute(
                "UPDATE subscriptions SET due_at = clock_timestamp() - device_key * interval '1 second'"
            )
            world.recorder.answer("aa02", with: .tooMany)
            try await holdingFirst(world) { try await world.settle() }
            #expect(try await world.subscription("d2") == "due")
            #expect(try await world.subscription("d3") == "riding")
        }
    }

    @Test("by a broadcast that those get who have joined late, whoever was due first")
    func broadcast() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            for number in 1...3 { try await world.report("d\(number)", .channel, known: 0) }
            try await world.database.execute(
                "UPDATE subscriptions SET due_at = clock_timestamp() - device_key * interval '1 second'"
            )
            try await holdingFirst(world) { try await world.settle() }
            #expect(try await world.number("SELECT count(*) FROM subscriptions WHERE state = 'riding'") == 3)
        }
    }

    @Test("by a worker that gives up those whose channel is gone")
    func abandonment() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            for number in 1...3 { try await world.report("d\(number)", .channel, known: 0) }
            _ = try await world.database.pipeline([
                "UPDATE subscriptions SET due_at = clock_timestamp() - device_key * interval '1 second'",
                "UPDATE channels SET state = 'deleting', delete_at = now()",
            ])
            try await holdingFirst(world) { try await world.settle() }
            #expect(try await world.number("SELECT count(*) FROM subscriptions WHERE state = 'over'") == 3)
        }
    }

    @Test("by whoever finds that Apple has lost their channel")
    func loss() async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            for number in 1...3 { try await world.report("d\(number)", .channel, known: 0) }
            // So that their rows lie in another order than that of their keys.
            for number in (1...3).reversed() {
                try await world.database.execute(
                    """
                    UPDATE subscriptions SET due_at = clock_timestamp() - device_key * interval '1 second'
                    WHERE device_key = (SELECT device_key FROM devices WHERE device_id = \("d\(number)"))
                    """
                )
            }
            let id = try #require(try await world.word("SELECT channel_id::text FROM channels"))
            let apnsID = try #require(try await world.word("SELECT apns_channel_id FROM channels"))
            world.recorder.loseChannel(apnsID)
            try await holdingFirst(world) {
                _ = try await world.orchestrator.channelRoom.settleLoss(
                    of: ChannelID(stored: id),
                    APNSChannelID(stored: apnsID),
                    app: world.app,
                    .production,
                    reason: "test"
                )
            }
            #expect(try await world.number("SELECT count(*) FROM subscriptions WHERE state = 'over'") == 3)
        }
    }
}

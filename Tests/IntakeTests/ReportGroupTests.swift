import APITypes
import ActivityModel
import DeliveryStore
import OrchestratorTestSupport
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Intake
@testable import Orchestrator

@Suite("Reports of cards that are taken together", .timeLimit(.minutes(2)))
struct ReportGroupTests {
    @Test("A phone with a new version of the app keeps no other phone waiting for its answer")
    func newVersion() async throws {
        try await withWorld { world in
            try await world.start()
            for number in 0...2 {
                try await world.install("1.0", on: "d\(number)", os: "18.1")
                try await world.follow("d\(number)", token: "aa0\(number)")
            }
            @Sendable func report(_ device: String, version: String? = nil) async throws {
                let request = SubscriptionRequest(
                    .updateToken(try #require(PushToken(hex: "bb\(device.suffix(1))0"))),
                    appVersion: version.flatMap { AppVersion($0) }
                )
                _ = try await world.orchestrator.intake.subscribe(
                    world.app,
                    ActivityID(stored: "final"),
                    DeviceID(stored: device),
                    request
                )
            }
            let renewed = try await world.database.withTransaction { types in
                // Whoever has a version that no card had before looks at the type.
                _ = try await types.query("SELECT FROM activity_types FOR UPDATE")
                let (first, renewed, other) = try await world.database.withTransaction { devices in
                    _ = try await devices.query("SELECT FROM devices WHERE device_id = 'd0' FOR UPDATE")
                    let first = Task { try await report("d0") }
                    try await world.someoneWaits()
                    // They come meanwhile, and so form a group.
                    let renewed = Task { try await report("d1", version: "1.1") }
                    let other = Task { try await report("d2") }
                    try await eventually("two wait") { world.orchestrator.intake.groups.reports.backlog.count == 2 }
                    return (first, renewed, other)
                }
                try await first.value
                try await other.value
                return renewed
            }
            try await renewed.value
            #expect(try await world.tables.cards().count == 3)
        }
    }

    @Test("What is stored is sent at once, also if the tokens of other phones cannot be given up then")
    func cleanUpFails() async throws {
        try await withWorld { world in
            try await world.start()
            let isStored = Mutex(false)
            let gate = StatementGate { (moment) async throws(PostgresError) in
                if moment == .afterCommit { isStored.withLock { $0 = true } }
                if moment == .beforeCommit, isStored.withLock({ $0 }) { throw PostgresError(.connectionLost) }
            }
            let dying = world.sibling(behind: gate)
            try await dying.withIntake {
                let wakeUps = dying.orchestrator.deliveryStore.wakeUps
                _ = wakeUps.takeLook()
                await #expect(throws: PostgresError.self) { try await dying.follow("d1", token: "aa01") }
                #expect(wakeUps.takeLook())
            }
            #expect(try await world.subscription("d1") == "due")
        }
    }
}

import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import TestSupport
import Testing

@testable import Intake
@testable import Orchestrator
@testable import Store

@Suite("Cards that their apps have scheduled", .timeLimit(.minutes(2)))
struct PendingCardTests {
    private static let final = ActivityID(stored: "final")
    private static let day: Int64 = 86_400

    private func watch(_ world: World) async throws {
        while try await world.watchCards() > 0 {}
    }

    private func listed(_ world: World, _ state: SubscriptionState? = nil) async throws -> [SubscriptionResource] {
        try await world.orchestrator.subscriptions(world.app, Self.final, state: state, PageRequest()).items
    }

    @Test("A pending card is sent nothing until it has begun; then the newest state, without alerts of before")
    func waits() async throws {
        try await withWorld { world in
            try await world.start()
            #expect(try await world.follow("d1", token: "aa01", card: "A", pending: true).state == .withheld)
            try await world.update(score: 1, alert: "Goal")
            try await world.update(score: 2, mustDeliver: true)
            try await world.update(score: 3)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            #expect(try await world.show().progress == DeliveryProgress(waitingToBegin: 1))
            let card = try #require(try await listed(world, .withheld).first)
            #expect(card.reason == "pending" && card.pendingSince != nil)
            #expect(try await world.explain("d1").verdict.code == "waiting_to_begin")
            #expect(try await world.follow("d1", token: "aa01", card: "A").state == .due)
            // The stamps of three changes in a second run ahead of the clock.
            try await world.pass(5)
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.score) == [3])
            #expect(pushes.map(\.alert) == [nil])
            #expect(try await listed(world).first?.pendingSince == nil)
            try await world.update(score: 4)
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [4])
        }
    }

    @Test("By policy a pending card is sent what comes, and the newest state once more when it has begun")
    func passes() async throws {
        try await withWorld(policy: { $0.pendingUpdates = .pass }) { world in
            try await world.start()
            #expect(try await world.follow("d1", token: "aa01", pending: true).state == .due)
            try await world.settle()
            try await world.update(score: 1)
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [0, 1])
            let card = try #require(try await listed(world).first)
            #expect(card.state == .riding && card.pendingSince != nil)
            #expect(try await world.follow("d1", token: "aa01").state == .due)
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [1])
        }
    }

    @Test("An end reaches a card that has not begun, and takes no alert to it", arguments: PendingUpdates.allCases)
    func ends(policy: PendingUpdates) async throws {
        try await withWorld(policy: { $0.pendingUpdates = policy }) { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1, pending: true)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            try await world.end(alert: policy == .wait ? "Cancelled" : nil)
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.event) == ["end"])
            #expect(pushes.map(\.alert) == [nil])
            #expect(try await world.show().progress == DeliveryProgress(destinations: 1, current: 1))
            // One that is reported later is told, too.
            try await world.follow("d2", token: "aa02", pending: true)
            try await world.settle()
            #expect(world.recorder.take().map(\.event) == ["end"])
        }
    }

    @Test("An end reaches all cards that have not begun, page by page, and none that is gone")
    func endsMany() async throws {
        try await withWorld(settings: OrchestratorSettings { $0.stretchSize = 1 }) { world in
            try await world.start()
            for number in 1...4 { try await world.follow("d\(number)", token: "aa0\(number)", pending: true) }
            try await world.report("d2", .ended)
            try await world.end()
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.destination).sorted() == ["aa01", "aa03", "aa04"])
            #expect(pushes.allSatisfy { $0.event == "end" })
        }
    }

    @Test("An end that comes while the report of a pending card is being stored reaches the card")
    func endsMeanwhile() async throws {
        try await withWorld { world in
            try await world.start()
            // Now it is known what apps without a version can decode.
            try await world.follow("d0", token: "aa00", known: 1)
            try await world.report("d0", .ended)
            try await world.settle()
            let gate = Gate()
            let other = world.sibling(
                behind: StatementGate { (moment) async throws(PostgresError) in
                    if moment == .beforeCommit { await gate.pass() }
                }
            )
            try await other.withIntake {
                let card = ReportedCard(
                    app: world.app,
                    activity: Self.final,
                    device: DeviceID(stored: "d1"),
                    request: SubscriptionRequest(
                        .updateToken(try #require(PushToken(hex: "aa01"))),
                        isPending: true,
                        environment: .production
                    ),
                    // All is written before the commit then.
                    idempotencyKey: IdempotencyKey(
                        scope: Array(repeating: 1, count: 32),
                        app: world.app,
                        bodyHash: Array(repeating: 2, count: 32)
                    )
                )
                async let answers = other.orchestrator.intake.accept([card])
                await gate.arrivals(1)
                try await world.end()
                try await world.settle()
                #expect(world.recorder.take().isEmpty)
                gate.open()
                let answer = try await answers.first?.get()
                #expect(answer?.state == .withheld)
            }
            try await world.settle()
            #expect(world.recorder.take().map(\.event) == ["end"])
        }
    }

    @Test("A device with a pending card is sent no start", arguments: [true, false])
    func noStart(isAddedFirst: Bool) async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: isAddedFirst ? World.devices("d1") : Audience())
            try await world.follow("d1", token: "aa01", pending: true)
            if !isAddedFirst {
                let request = AudienceRequest(add: World.devices("d1"))
                _ = try await world.orchestrator.intake.changeAudience(world.app, Self.final, request)
            }
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test("A late report that a card is pending changes nothing once it has begun")
    func late() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", generation: 2)
            let late = try await world.follow("d1", token: "aa01", generation: 1, pending: true)
            #expect(late.stale == .generation && late.state == .due)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [0])
            #expect(try await listed(world).first?.pendingSince == nil)
        }
    }

    @Test("The eight hours of a card count from its beginning")
    func ages() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", pending: true)
            try await world.pass(3 * Self.day)
            try await watch(world)
            #expect(try await world.subscription("d1") == "withheld")
            try await world.follow("d1", token: "aa01")
            try await world.pass(7 * 3600)
            try await watch(world)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [0])
            try await world.pass(3601)
            try await watch(world)
            #expect(try await world.subscription("d1") == "over")
        }
    }

    @Test("A card that is pending for 30 days without a report is given up, until it is reported after all")
    func silent() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", pending: true)
            try await world.pass(20 * Self.day)
            try await world.follow("d1", token: "aa01", pending: true)
            try await world.pass(20 * Self.day)
            try await watch(world)
            #expect(try await world.subscription("d1") == "withheld")
            try await world.pass(10 * Self.day + 1)
            try await watch(world)
            #expect(try await world.subscription("d1") == "over")
            #expect(try await world.explain("d1").verdict.text.contains("30 days"))
            #expect(try await world.follow("d1", token: "aa01").state == .due)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [0])
        }
    }

    @Test("A new policy counts from the next report of a card on")
    func policyChanges() async throws {
        try await withWorld { world in
            func set(_ policy: PendingUpdates) async throws {
                let patch = TypePatch(policy: ["pending_updates": .string(policy.rawValue)])
                _ = try await world.orchestrator.patchType(world.app, World.game, patch)
            }
            func sent(after score: Int64) async throws -> [Int64?] {
                try await world.update(score: score)
                try await world.pass(5)
                try await world.settle()
                return world.recorder.take().map(\.score)
            }
            try await world.start()
            try await world.follow("d1", token: "aa01", pending: true)
            try await set(.pass)
            #expect(try await sent(after: 1) == [])
            #expect(try await world.follow("d1", token: "aa01", pending: true).state == .due)
            #expect(try await sent(after: 2) == [2])
            try await set(.wait)
            #expect(try await sent(after: 3) == [3])
            #expect(try await world.follow("d1", token: "aa01", pending: true).state == .withheld)
            #expect(try await sent(after: 4) == [])
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [4])
        }
    }

    @Test("A card that the backend takes away is ended before it begins")
    func leaves() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", pending: true)
            try await world.settle()
            try await world.orchestrator.intake.unsubscribe(world.app, Self.final, DeviceID(stored: "d1"))
            try await world.settle()
            #expect(world.recorder.take().map(\.event) == ["end"])
            #expect(try await world.subscription("d1") == nil)
        }
    }

    @Test("A card on a channel may be pending, too, and its hours count from its beginning")
    func onChannel() async throws {
        try await withWorld { world in
            try await world.start(delivery: .hybrid)
            try await world.settle()
            try await world.report("d1", .channel, known: 1, pending: true)
            #expect(try await listed(world).first?.pendingSince != nil)
            try await world.pass(Self.day)
            try await watch(world)
            #expect(try await world.subscription("d1") == "riding")
            try await world.report("d1", .channel, known: 1)
            try await world.pass(28_801)
            try await watch(world)
            #expect(try await world.subscription("d1") == "over")
        }
    }

    @Test("A dry run counts pending cards for an end, and not for an update")
    func dryRuns() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", pending: true)
            let orchestrator = world.orchestrator
            let request = UpdateRequest(contentState: World.state(1))
            let update = try await orchestrator.intake.dryRunUpdate(world.app, Self.final, request)
            #expect(update.pushes.map(\.destinations) == [0])
            #expect(update.withheld == ["withheld": 1])
            let end = try await orchestrator.intake.dryRunEnd(world.app, Self.final, EndRequest())
            #expect(end.pushes.map(\.destinations) == [1])
            #expect(end.withheld.isEmpty)
        }
    }
}

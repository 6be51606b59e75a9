import APITypes
import APNSTransport
import ActivityModel
import DeliveryStore
import JSON
import OrchestratorTestSupport
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Delivery
@testable import Intake
@testable import Orchestrator
@testable import Store

@Suite("Cards are brought in line with what their app can decode", .timeLimit(.minutes(2)))
struct AlignmentTests {
    /// A phone with an app whose version is retired (`old`, token aa01) and one with the newer app (`new`, token aa02),
    /// which both show score 1.
    private func withRetired(_ body: (World) async throws -> Void) async throws {
        try await withWorld { world in
            try await world.startForBoth(old: "1.1")
            try await world.retire(1)
            try await world.settle()
            _ = world.recorder.take()
            try await body(world)
        }
    }

    /// The old phone's token is answered like this when score 2 is sent.
    private func answer(_ outcome: PushOutcome, in world: World) async throws {
        world.recorder.answer("aa01", with: outcome)
        try await world.updateBoth(score: 2)
        try await world.pass(5)
        try await world.settle()
        _ = world.recorder.take()
    }

    /// As if all rejections so far had been suspected to be nobody's tokens' fault.
    private func revive(_ world: World) async throws {
        try await world.tables.halt(world.app.rawValue, since: 3600, probeIn: 3600)
        try await world.orchestrator.liftHalt(world.app, .production, reviving: true)
        try await world.settle()
    }

    // MARK: Cards that are not on the ring

    @Test("A card that waits for its next try is taken off, and is sent the first state that its app can decode")
    func due() async throws {
        try await withRetired { world in
            try await answer(.unavailable, in: world)
            #expect(try await world.subscription("old") == "due")
            try await world.updateNew(3)
            try await world.settle()
            #expect(try await world.subscription("old") == "withheld")
            #expect(try await world.show().progress.withheld == 1)
            try await world.updateBoth(score: 4)
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa01").map(\.score) == [4])
        }
    }

    @Test("A card that waits for its next try is told the alert of that push, though its app is replaced meanwhile")
    func alertOnItsWay() async throws {
        try await withWorld { world in
            try await world.startForBoth(old: "2.0")
            world.recorder.answer("aa01", with: .unavailable)
            try await world.updateBoth(score: 2, alert: "Goal")
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa01").last?.alert != nil)
            try await world.updateBoth(score: 3)
            // What this version can decode is known from here on.
            try await world.install("2.2", on: "third")
            try await world.follow("third", token: "aa03")
            try await world.install("2.2", on: "old")
            _ = world.recorder.take()
            try await world.pass(5)
            try await world.settle()
            let told = try #require(world.recorder.pushes(to: "aa01").last)
            #expect(told.score == 3)
            #expect(told.alert != nil)
        }
    }

    @Test(
        "Neither it nor one whose token was rejected is owed what it could not decode, though no worker saw that",
        arguments: [false, true]
    )
    func unseen(isRejected: Bool) async throws {
        try await withRetired { world in
            try await answer(isRejected ? .badToken : .unavailable, in: world)
            try await world.updateNew(3, mustDeliver: true)
            try await world.updateBoth(score: 4)
            try await world.pass(5)
            try await world.settle()
            if isRejected {
                // A version that comes back makes no token good.
                #expect(world.recorder.pushes(to: "aa01").isEmpty)
                #expect(try await world.subscription("old") == "rejected")
                try await revive(world)
            }
            #expect(world.recorder.pushes(to: "aa01").map(\.score) == [4])
            #expect(world.recorder.pushes(to: "aa02").map(\.score) == [3, 4])
        }
    }

    @Test(
        "A card whose token was rejected is taken off, so that a revived token is sent nothing that its app cannot decode"
    )
    func rejected() async throws {
        try await withRetired { world in
            try await answer(.badToken, in: world)
            try await world.updateNew(3)
            try await world.settle()
            #expect(try await world.show().progress.withheld == 1)
            try await revive(world)
            #expect(world.recorder.pushes(to: "aa01").isEmpty)
            try await world.updateBoth(score: 4)
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa01").map(\.score) == [4])
        }
    }

    @Test("A card by channel stays as it is: nobody who listens can be left out")
    func channel() async throws {
        try await withWorld { world in
            try await world.registerVersion()
            try await world.retire(1)
            try await world.start(delivery: .hybrid) { $0.contentState["clock"] = "0" }
            for device in ["listener", "old"] { try await world.install("1.1", on: device) }
            try await world.report("listener", .channel)
            try await world.follow("old", token: "aa01")
            try await world.settle()
            _ = world.recorder.take()
            try await world.updateNew(2)
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [2])
            #expect(try await world.subscription("listener") == "riding")
            #expect(try await world.subscription("old") == "withheld")
            try await world.updateBoth(score: 3)
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [3, 3])
            #expect(try await world.subscription("listener") == "riding")
        }
    }

    // MARK: What a card has of the ring

    @Test(
        "A rider whose app is updated to one that decodes the newest state stays where it is and is sent nothing twice"
    )
    func updated() async throws {
        try await withRetired { world in
            try await world.updateNew(2)
            try await world.pass(5)
            try await world.settle()
            _ = world.recorder.take()
            try await world.install("2.2", on: "new")
            #expect(try await world.subscription("new") == "riding")
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test("A rider that was set back and updated again gets the state that it was sent already as no news")
    func sentOnRing() async throws {
        try await withRetired { world in
            try await world.update(score: 2) { request in
                request.contentState["clock"] = "45:00"
                request.contentState["note"] = 1
                request.urgency = .critical
            }
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.take().map(\.priority) == [.ten])
            try await world.install("1.9", on: "new")
            try await world.settle()
            try await world.install("2.1", on: "new")
            try await world.settle()
            #expect(world.recorder.take().map(\.priority) == [.five])
        }
    }

    @Test(
        "A rider that was set back and updated again is not told an alert, nor sent a barrier, that it had on the ring"
    )
    func heardOnRing() async throws {
        try await withRetired { world in
            try await world.update(score: 2, alert: "Goal", mustDeliver: true) { request in
                request.contentState["clock"] = "45:00"
                request.contentState["note"] = 1
            }
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.take().map(\.alert) == ["Goal"])
            try await world.install("1.9", on: "new")
            try await world.updateNew(3)
            try await world.settle()
            try await world.install("2.1", on: "new")
            try await world.pass(5)
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.score) == [3])
            #expect(pushes.map(\.alert) == [nil])
        }
    }

    @Test("An end tells a card no alert of the time in which states were withheld from it")
    func end() async throws {
        try await withRetired { world in
            try await world.update(score: 2, alert: "Goal") { request in
                request.contentState["clock"] = "45:00"
                request.contentState["note"] = 1
            }
            try await world.pass(5)
            try await world.settle()
            try await world.end()
            try await world.pass(5)
            try await world.settle()
            let pushes = world.recorder.pushes(to: "aa01")
            #expect(pushes.map(\.event) == ["end"])
            #expect(pushes.map(\.alert) == [nil])
        }
    }

    // MARK: Several rings, and what happens meanwhile

    @Test("Each ring takes its own cards off before it sends anything, page by page", arguments: [3, 2_000])
    func rings(pageSize: Int) async throws {
        let settings = OrchestratorSettings {
            $0.lease = .seconds(600)
            $0.ringSize = 10
            $0.stretchSize = pageSize
        }
        try await withWorld(settings: settings) { world in
            try await world.registerVersion()
            try await world.start { $0.contentState["clock"] = "0" }
            try await world.install("1.1", on: "old")
            try await world.follow("old", token: "aa01")
            try await world.crowd(39)
            try await world.database.execute("UPDATE devices SET app_version = '1.1'")
            try await world.updateBoth(score: 1)
            try await world.settle()
            let rings = try await world.tables.parts().count
            #expect(rings > 1)
            try await world.retire(1)
            _ = world.recorder.take()
            try await world.updateNew(2)
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            #expect(try await world.show().progress.withheld == 40)
            try await world.updateBoth(score: 3)
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == Array(repeating: 3, count: 40))
        }
    }

    @Test("A state that is accepted while a worker takes cards off is not overlooked by it")
    func meanwhile() async throws {
        try await withRetired { world in
            try await world.updateNew(2)
            // The worker asks what is not settled, moves cards, and then says that it is settled: before that it halts.
            let steps = Mutex(0)
            let meanwhile = Gate()
            let gate = StatementGate { (_) async throws(PostgresError) in
                let step = steps.withLock { steps in
                    steps += 1
                    return steps
                }
                if step == 3 { await meanwhile.pass() }
            }
            let lease = try #require(try await world.orchestrator.deliveryStore.segments.claim(limit: 1).first)
            let range = try #require(try await world.orchestrator.deliveryStore.segments.look(lease)).progress.range
            let worker = VersionSettlement(
                room: world.sibling(behind: gate).orchestrator.delivery,
                lease: lease,
                range: range
            )
            async let settlement: Void = worker.run()
            await meanwhile.arrivals()
            #expect(try await world.subscription("old") == "withheld")
            try await world.updateBoth(score: 3)
            meanwhile.open()
            try await settlement
            try await world.orchestrator.deliveryStore.segments.release(lease)
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa01").map(\.score) == [3])
        }
    }

    @Test("Phones whose apps were updated report together with others: each is answered, by what its app decodes now")
    func updatedApps() async throws {
        try await withWorld { world in
            try await world.registerVersion()
            for device in ["d1", "d2", "d3", "d4"] { try await world.install("1.0", on: device) }
            try await world.start()
            let token = try #require(PushToken(hex: "aa01"))
            let cards = [("d1", "2.1"), ("d2", nil), ("d3", "1.5"), ("d4", "2.1")].map { device, app in
                ReportedCard(
                    app: world.app,
                    activity: ActivityID(stored: "final"),
                    device: DeviceID(stored: device),
                    request: SubscriptionRequest(
                        .updateToken(token),
                        environment: .production,
                        appVersion: app.flatMap { AppVersion($0) }
                    )
                )
            }
            let answers = try await world.orchestrator.intake.accept(cards).map { try $0.get() }
            #expect(answers.map(\.deviceID.rawValue) == ["d1", "d2", "d3", "d4"])
            #expect(answers.map(\.state) == [.withheld, .due, .due, .withheld])
        }
    }
}

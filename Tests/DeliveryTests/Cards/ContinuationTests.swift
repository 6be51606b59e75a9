import APITypes
import APNSTransport
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import TestSupport
import Testing

@testable import DeliveryStore
@testable import Orchestrator

@Suite("Cards that a new card continues", .timeLimit(.minutes(2)))
struct ContinuationTests {
    private static let hours = 2
    /// A little more than the age at which a card is handed over.
    private static let age: Int64 = 7_201

    private func withCard(
        policy change: (inout Policy) -> Void = { _ in },
        _ body: (World) async throws -> Void
    ) async throws {
        var policy = Policy()
        policy.continueAfterHours = Self.hours
        change(&policy)
        try await withWorld(policy: { [policy] in $0 = policy }) { world in
            try await world.register("d1", token: "5a01", user: "ada")
            try await world.start(to: Audience(users: [UserID(stored: "ada")]))
            try await world.settle()
            try await world.follow("d1", token: "aa01", known: 1, generation: 7, card: "A")
            try await world.settle()
            _ = world.recorder.take()
            try await body(world)
        }
    }

    private func watch(_ world: World) async throws {
        while try await world.watchCards() > 0 {}
    }

    /// Asks the old card, and lets the start leave.
    private func handOver(_ world: World, after age: Int64 = ContinuationTests.age) async throws {
        try await begin(world, after: age)
        try await world.pass(11)
        try await world.settle()
    }

    private func begin(_ world: World, after age: Int64 = ContinuationTests.age) async throws {
        try await world.pass(age)
        try await watch(world)
        try await world.settle()
    }

    /// As if a daemon had claimed the start, and died before it stored what came of it.
    private func dieWithStart(_ world: World) async throws {
        try await world.database.execute(
            """
            UPDATE starts SET state = 'claimed', attempts = 1, claimed_at = now(), revision = 1,
                due_at = now() + interval '120 seconds'
            """
        )
    }

    /// How many looks at cards the next hour brings, at most one in five minutes.
    private func looks(_ world: World) async throws -> Int {
        var count = 0
        for _ in 0..<12 {
            try await world.pass(301)
            count += try await world.watchCards()
            try await world.settle()
        }
        return count
    }

    private func starts(_ world: World) -> Int { world.recorder.pushes(to: "5a01").count }

    /// The phone shows the new card, and says so.
    private func reportNewCard(
        _ world: World,
        _ token: String = "bb01",
        known: Revision = 1,
        card: String = "B"
    ) async throws {
        try await world.follow("d1", token: token, known: known, generation: 8, card: card)
    }

    @Test("The new card is started with the newest state and without a sound. Its report ends the old one")
    func continued() async throws {
        try await withCard { world in
            try await world.update(score: 3)
            try await world.settle()
            _ = world.recorder.take()
            try await begin(world, after: Self.age - 60)
            #expect(world.recorder.take().isEmpty)
            try await handOver(world, after: 60)
            let pushes = world.recorder.take()
            // The old card is sent the state once more: APNs may say that it is gone.
            #expect(pushes.map(\.destination) == ["aa01", "5a01"])
            #expect(pushes.map(\.event) == ["update", "start"])
            #expect(pushes.map(\.score) == [3, 3])
            #expect(pushes.map(\.alert) == [nil, "Kick-off"])
            try await reportNewCard(world, known: 2)
            #expect(try await world.orchestrator.deliveryStore.dueWork.look().due.contains(.cards))
            try await watch(world)
            let end = try #require(world.recorder.take().first)
            #expect(end.destination == "aa01")
            #expect(end.event == "end")
            let (date, stamp) = (end.aps["dismissal-date"]?.int64, end.aps["timestamp"]?.int64)
            #expect(try #require(date) < #require(stamp))
            try await world.pass(1_000)
            try await watch(world)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test("If no phone shows the new card, the old one goes on with all changes")
    func unseen() async throws {
        try await withCard { world in
            try await handOver(world)
            _ = world.recorder.take()
            for score: Int64 in 1...2 {
                try await world.update(score: score)
                try await world.settle()
                try await watch(world)
                try await world.pass(1_000)
            }
            #expect(world.recorder.take().map(\.destination) == ["aa01", "aa01"])
            try await world.end()
            try await world.settle()
            #expect(world.recorder.take().map(\.event) == ["end"])
            #expect(starts(world) == 0)
        }
    }

    @Test("The start of the new card rings no bell")
    func quiet() async throws {
        try await withWorld(policy: { $0.continueAfterHours = Self.hours }) { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1")) {
                $0.alert = AlertContent(title: .plain("Kick-off"), body: .plain("Look"), sound: "default")
            }
            try await world.settle()
            try await world.follow("d1", token: "aa01", known: 1, card: "A")
            try await handOver(world)
            let sounds = world.recorder.pushes(to: "5a01").map { $0.aps["alert"]?.object?["sound"]?.string }
            #expect(sounds == ["default", nil])
        }
    }

    @Test("The new card is served under its own token, and late reports of the old card change nothing")
    func reports() async throws {
        try await withCard { world in
            try await handOver(world)
            try await world.follow("d1", token: "bb01", known: 1, generation: 1, card: "B")
            try await watch(world)
            try await world.follow("d1", token: "aa02", generation: 8, card: "A")
            try await world.report("d1", .ended, generation: 9, card: "A")
            _ = world.recorder.take()
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["bb01"])
            // The old card lived on under a token that Tally did not know.
            try await watch(world)
            let ends = world.recorder.take()
            #expect(ends.map(\.destination) == ["aa02"])
            #expect(ends.map(\.event) == ["end"])
            // The next one is continued, too.
            try await handOver(world)
            try await reportNewCard(world, "cc01", known: 2, card: "C")
            try await watch(world)
            #expect(world.recorder.take().map(\.destination) == ["bb01", "5a01", "bb01"])
        }
    }

    /// A report of the first card, when the phone shows another one.
    private func reportLate(_ world: World, isEnd: Bool) async throws {
        if isEnd {
            try await world.report("d1", .ended, generation: 9, card: "A")
        } else {
            try await world.follow("d1", token: "aa02", generation: 9, card: "A")
        }
    }

    @Test("A report of the old card during the hand-over leaves the new card its row", arguments: [false, true])
    func besideHandOver(isEnd: Bool) async throws {
        try await withCard { world in
            try await handOver(world)
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await world.database.withTransaction { connection in
                    // The hand-over waits for the old card, and the report behind it.
                    _ = try await connection.query("SELECT FROM subscriptions FOR UPDATE")
                    // The app counts anew for each card.
                    group.addTask { try await world.follow("d1", token: "bb01", known: 1, generation: 1, card: "B") }
                    try await world.someoneWaits()
                    group.addTask { try await reportLate(world, isEnd: isEnd) }
                }
                try await group.waitForAll()
            }
            #expect(try await world.tables.card(of: "d1")?.token == "bb01")
            _ = world.recorder.take()
            try await watch(world)
            #expect(world.recorder.take().map(\.destination) == [isEnd ? "aa01" : "aa02"])
        }
    }

    @Test(
        "A new card on a channel has the row once its start is accepted, also beside a report of the old card",
        arguments: [false, true]
    )
    func onChannel(isEnd: Bool) async throws {
        try await withWorld(policy: { $0.continueAfterHours = Self.hours }) { world in
            try await world.register("d1")
            try await world.start(to: World.devices("d1"), delivery: .hybrid)
            try await world.settle()
            try await world.follow("d1", token: "aa01", known: 1, generation: 7, card: "A")
            try await world.register("d1", token: "5a01")
            try await begin(world)
            try await world.pass(11)
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await world.database.withTransaction { connection in
                    // The hand-over waits for the old card, and the report behind it.
                    _ = try await connection.query("SELECT FROM subscriptions FOR UPDATE")
                    group.addTask { try await world.settle() }
                    try await world.someoneWaits()
                    group.addTask { try await reportLate(world, isEnd: isEnd) }
                    try await world.someoneWaits(atLeast: 2)
                }
                try await group.waitForAll()
            }
            #expect(try await world.tables.card(of: "d1")?.mode == "channel")
            _ = world.recorder.take()
            try await watch(world)
            #expect(world.recorder.take().map(\.destination) == [isEnd ? "aa01" : "aa02"])
        }
    }

    @Test("A report of a card before the last one does not hand the last one over", arguments: [false, true])
    func reportedLate(isEnd: Bool) async throws {
        try await withCard { world in
            try await handOver(world)
            try await reportNewCard(world)
            try await watch(world)
            try await world.settle()
            try await begin(world)
            try await dieWithStart(world)
            _ = world.recorder.take()
            try await reportLate(world, isEnd: isEnd)
            #expect(try await world.tables.card(of: "d1")?.token == "bb01")
            try await watch(world)
            #expect(world.recorder.take().map(\.destination) == (isEnd ? [] : ["aa02"]))
            try await world.follow("d1", token: "cc01", known: 1, generation: 10, card: "C")
            try await watch(world)
            #expect(world.recorder.take().map(\.destination) == ["bb01"])
            #expect(try await world.tables.card(of: "d1")?.token == "cc01")
        }
    }

    @Test("A report of the old card while its continuation is on the way is taken as ever, and does not stop it")
    func rotated() async throws {
        try await withCard { world in
            try await begin(world)
            try await world.follow("d1", token: "aa02", known: 1, generation: 8, card: "A")
            try await world.settle()
            try await world.pass(11)
            try await world.settle()
            #expect(starts(world) == 1)
            try await reportNewCard(world)
            try await watch(world)
            #expect(world.recorder.pushes(to: "aa02").map(\.event).last == "end")
        }
    }

    @Test("A card that its user has swiped away is not started again", arguments: [false, true])
    func swiped(isReported: Bool) async throws {
        try await withCard { world in
            if isReported {
                try await world.report("d1", .ended, generation: 8, card: "A")
            } else {
                // Nobody reports it. APNs says it when Tally asks.
                world.recorder.answer("aa01", with: .unregistered(at: nil))
            }
            try await handOver(world)
            try await handOver(world, after: 400)
            #expect(starts(world) == 0)
        }
    }

    @Test("Nothing is continued for somebody who left the audience, or without ActivityKit's id of the card")
    func unwanted() async throws {
        try await withCard { world in
            try await world.register("d1", token: "5a01", user: "ben")
            try await handOver(world)
            #expect(starts(world) == 0)
        }
        try await withWorld(policy: { $0.continueAfterHours = Self.hours }) { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1"))
            try await world.follow("d1", token: "aa01", known: 1)
            try await handOver(world)
            #expect(starts(world) == 0)
        }
    }

    @Test("A device without a start token keeps its card, until it reports one")
    func withoutStartToken() async throws {
        try await withWorld(policy: { $0.continueAfterHours = Self.hours }) { world in
            try await world.register("d1")
            try await world.start(to: World.devices("d1"))
            try await world.follow("d1", token: "aa01", known: 1, card: "A")
            try await handOver(world)
            #expect(world.recorder.take().isEmpty)
            try await world.register("d1", token: "5a01")
            try await handOver(world, after: 301)
            #expect(starts(world) == 1)
        }
    }

    /// What keeps a card from being continued until its device registers again.
    enum Obstacle: CaseIterable {
        case noStartToken, deadStartToken, switchedOff, otherEnvironment
    }

    @Test("A card that cannot be continued is looked at again when its device registers", arguments: Obstacle.allCases)
    func hopeless(obstacle: Obstacle) async throws {
        try await withWorld(policy: { $0.continueAfterHours = Self.hours }) { world in
            try await world.register("d1", token: obstacle == .noStartToken ? nil : "5a01")
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            try await world.follow("d1", token: "aa01", known: 1, card: "A")
            try await world.settle()
            switch obstacle {
            case .noStartToken: break
            case .deadStartToken: try await world.database.execute("UPDATE start_tokens SET state = 'dead'")
            case .switchedOff: try await world.register("d1", token: "5a01", enabled: false)
            case .otherEnvironment: try await world.database.execute("UPDATE devices SET environment = 'sandbox'")
            }
            _ = world.recorder.take()
            try await handOver(world)
            #expect(try await looks(world) == 0)
            #expect(world.recorder.take().isEmpty)
            if obstacle == .otherEnvironment {
                try await world.database.execute("UPDATE devices SET environment = 'production'")
            }
            try await world.register("d1", token: "5a02")
            try await handOver(world, after: 1)
            #expect(world.recorder.pushes(to: "5a02").map(\.event) == ["start"])
        }
    }

    @Test("A card that an old iOS kept from being continued is looked at when a report of any card names a newer one")
    func newerSystem() async throws {
        try await withCard { world in
            try await world.register("d1", token: "5a01", user: "ada", os: "17.0")
            try await handOver(world)
            #expect(try await looks(world) == 0)
            #expect(starts(world) == 0)
            try await world.start("other")
            try await world.follow("d1", token: "bb01", in: "other", known: 1)
            try await handOver(world, after: 1)
            #expect(starts(world) == 1)
        }
    }

    @Test("A card whose start got no answer twice is looked at no more")
    func spent() async throws {
        try await withCard { world in
            world.recorder.answer("5a01", with: .noAnswer, .noAnswer)
            try await handOver(world)
            #expect(try await looks(world) < 5)
            #expect(starts(world) == 2)
            #expect(try await looks(world) == 0)
        }
    }

    @Test("A card that would have to wait for the start budget longer than it lives is looked at no more")
    func overBudget() async throws {
        try await withCard(policy: { ($0.startBudget.count, $0.startBudget.windowSeconds) = (1, 100_000) }) { world in
            try await handOver(world)
            #expect(try await looks(world) == 1)
            #expect(try await looks(world) == 0)
        }
    }

    @Test("What keeps a card from being continued for long is looked at less and less often")
    func patient() async throws {
        try await withCard { world in
            try await world.register("d1", token: "5a01", user: "ben")
            try await handOver(world)
            let counts = [try await looks(world), try await looks(world)]
            #expect(counts[0] < 7)
            #expect(counts[1] < 4)
            #expect(counts[1] > 0)
            #expect(starts(world) == 0)
            try await world.register("d1", token: "5a01", user: "ada")
            try await handOver(world, after: 1)
            #expect(starts(world) == 1)
        }
    }

    @Test("A card that its app reported a short time ago is looked at when that is long enough ago")
    func resting() async throws {
        try await withCard { world in
            try await world.pass(Self.age - 600)
            try await world.follow("d1", token: "aa02", known: 1, generation: 8, card: "A")
            try await world.settle()
            _ = world.recorder.take()
            try await handOver(world, after: 600)
            #expect(try await world.watchCards() == 0)
            try await handOver(world, after: 2_000)
            #expect(starts(world) == 0)
            try await handOver(world, after: 100)
            #expect(starts(world) == 1)
        }
    }

    @Test("A card whose token was rejected when it was old enough is continued once the token is good again")
    func revived() async throws {
        try await withCard { world in
            try await world.database.execute("UPDATE subscriptions SET state = 'rejected'")
            try await handOver(world)
            #expect(world.recorder.take().isEmpty)
            try await world.database.execute("UPDATE subscriptions SET state = 'riding'")
            try await handOver(world, after: 301)
            #expect(starts(world) == 1)
        }
    }

    @Test("If the start is refused the old card stays, and it is tried again")
    func refused() async throws {
        try await withCard { world in
            world.recorder.answer("5a01", with: .badToken)
            try await handOver(world)
            try await watch(world)
            #expect(starts(world) == 1)
            #expect(!world.recorder.take().contains { $0.event == "end" })
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["aa01"])
            try await world.register("d1", token: "5a01", user: "ada")
            try await handOver(world, after: 301)
            try await reportNewCard(world, known: 2)
            try await watch(world)
            // The old card is asked again, too.
            #expect(world.recorder.take().map(\.event) == ["update", "start", "end"])
        }
    }

    @Test("The start budget holds over all cards of a device, and without a unit nothing ends and no alert is sent")
    func budget() async throws {
        try await withCard(policy: {
            ($0.startBudget.count, $0.startBudget.windowSeconds) = (2, 100_000)
            $0.fallbackAlert = true
        }) { world in
            try await world.register("d1", token: "5a01", user: "ada", deviceToken: "de01")
            try await handOver(world)
            try await reportNewCard(world)
            try await watch(world)
            try await world.settle()
            #expect(starts(world) == 1)
            _ = world.recorder.take()
            try await handOver(world)
            try await watch(world)
            // Only the question whether the card is still there.
            #expect(world.recorder.take().map(\.destination) == ["bb01"])
            #expect(try await world.startState("d1") == "withheld")
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["bb01"])
        }
    }

    @Test("A daemon that dies between the claim and the answer leaves a start that is repeated once")
    func diesWithStart() async throws {
        try await withCard { world in
            try await begin(world)
            try await dieWithStart(world)
            try await world.pass(121)
            try await world.settle()
            try await reportNewCard(world)
            try await watch(world)
            #expect(starts(world) == 1)
            #expect(world.recorder.take().map(\.event) == ["update", "start", "end"])
        }
    }

    @Test(
        "If the phone reports the new card before any answer is stored, the old one is ended and no start is repeated"
    )
    func reportedFirst() async throws {
        try await withCard { world in
            try await begin(world)
            try await dieWithStart(world)
            try await world.follow("d1", token: "bb01", known: 1, generation: 8, card: "B")
            try await world.settle()
            try await watch(world)
            #expect(world.recorder.pushes(to: "aa01").map(\.event) == ["update", "end"])
            try await world.pass(1_000)
            try await world.settle()
            #expect(starts(world) == 0)
            #expect(try await world.tables.card(of: "d1")?.token == "bb01")
        }
    }

    @Test("A daemon that dies before the old card is ended leaves that to another, and so does one without an answer")
    func diesBeforeEnd() async throws {
        try await withCard { world in
            try await handOver(world)
            try await reportNewCard(world)
            _ = world.recorder.take()
            let other = world.sibling()
            world.recorder.answer("aa01", with: .noAnswer)
            try await watch(other)
            try await world.pass(31)
            try await watch(world)
            #expect(world.recorder.take().map(\.event) == ["end", "end"])
            try await world.pass(1_000)
            try await watch(world)
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test("An activity that has ended continues nothing, and its old cards are ended all the same")
    func ended() async throws {
        try await withCard { world in
            try await begin(world)
            try await world.end()
            try await world.settle()
            try await world.pass(11)
            try await world.settle()
            #expect(starts(world) == 0)
        }
        try await withCard { world in
            try await handOver(world)
            try await reportNewCard(world)
            _ = world.recorder.take()
            try await world.end()
            try await world.settle()
            try await watch(world)
            #expect(world.recorder.take().map(\.destination) == ["bb01", "aa01"])
        }
        try await withCard { world in
            try await handOver(world)
            _ = world.recorder.take()
            try await world.end()
            try await world.settle()
            // Then the new card stands alone with the last state.
            try await reportNewCard(world)
            try await world.settle()
            try await watch(world)
            #expect(world.recorder.take().map(\.destination) == ["aa01", "bb01", "aa01"])
        }
    }

    @Test("While sending is halted nothing is continued")
    func halted() async throws {
        try await withCard { world in
            try await world.database.execute(
                """
                INSERT INTO sending_halts (bundle_id, environment, suspect_from, answers, rejections, probe_at)
                VALUES (\(world.app.rawValue), 'production', now(), 100, 50, now() + interval '1 hour')
                """
            )
            try await handOver(world)
            #expect(world.recorder.take().isEmpty)
            try await world.database.execute("DELETE FROM sending_halts")
            try await handOver(world, after: 301)
            #expect(starts(world) == 1)
        }
    }

    @Test("Two daemons at once start one card and send one end")
    func twoDaemons() async throws {
        try await withCard { world in
            let other = world.sibling()
            func both(_ work: @escaping @Sendable (World) async throws -> Void) async throws {
                try await withThrowingTaskGroup { group in
                    for daemon in [world, other] { group.addTask { try await work(daemon) } }
                    try await group.waitForAll()
                }
            }
            try await world.pass(Self.age)
            try await both { _ = try await $0.watchCards() }
            try await both { try await $0.settle() }
            try await world.pass(11)
            try await both { try await $0.settle() }
            try await world.pass(1)
            try await world.settle()
            try await reportNewCard(world)
            try await both { _ = try await $0.watchCards() }
            #expect(starts(world) == 1)
            #expect(world.recorder.pushes(to: "aa01").filter { $0.event == "end" }.count == 1)
        }
    }
}

import APITypes
import APNSTransport
import ActivityModel
import DeliveryStore
import OrchestratorTestSupport
import Postgres
import Testing
import Waiting

@testable import Cards
@testable import Store

@Suite("What becomes of a push that is not accepted", .timeLimit(.minutes(2)))
struct ExceptionTests {
    /// An answer to one of two destinations, and what it does to that one.
    struct Case: Sendable, CustomTestStringConvertible {
        let outcome: PushOutcome
        let state: String
        /// What is sent to it when a minute has passed: the newest state again, or nothing.
        let isRepeated: Bool
        /// Whether the change after that is sent to it.
        let isFollowed: Bool

        var testDescription: String { "\(outcome)" }
    }

    static let cases = [
        Case(outcome: .tooMany, state: "due", isRepeated: true, isFollowed: true),
        Case(outcome: .badToken, state: "rejected", isRepeated: false, isFollowed: false),
        Case(outcome: .unregistered(at: nil), state: "dead", isRepeated: false, isFollowed: false),
        // In the year 2100: later than any report.
        Case(outcome: .unregistered(at: 4_102_444_800_000), state: "dead", isRepeated: false, isFollowed: false),
        // In 2001: before the app reported the token.
        Case(outcome: .unregistered(at: 1_000_000_000_000), state: "due", isRepeated: true, isFollowed: true),
        Case(
            outcome: PushOutcome(.requestInvalid, status: 400, reason: "BadPriority"),
            state: "riding",
            isRepeated: false,
            isFollowed: true
        ),
    ]

    @Test(
        "An answer concerns only the destination that it was for, and a token dies only for a token's reason",
        arguments: cases
    )
    func answers(example: Case) async throws {
        try await withWorld { world in
            try await world.start()
            for number in 1...2 { try await world.follow("d\(number)", token: "aa0\(number)", known: 1) }
            try await world.settle()
            world.recorder.answer("aa01", with: example.outcome)
            try await world.update(score: 1)
            try await world.settle()
            #expect(try await world.subscription("d1") == example.state)
            #expect(try await world.subscription("d2") == "riding")
            _ = world.recorder.take()
            try await world.pass(60)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == (example.isRepeated ? ["aa01"] : []))
            try await world.update(score: 2)
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa01").map(\.score) == (example.isFollowed ? [2] : []))
            #expect(world.recorder.pushes(to: "aa02").map(\.score) == [2])
            // A new report revives whatever was wrong.
            try await world.follow("d1", token: "bb01")
            try await world.settle()
            #expect(try await world.subscription("d1") == "riding")
        }
    }

    @Test("A token is forgotten or parked only for a token's reason; what is refused would be refused every time")
    func consequences() {
        let meanings: [(PushOutcome.Class, Consequence)] = [
            (.accepted, .done), (.requestInvalid, .refused), (.channelGone, .refused),
            (.tokenDead(at: nil), .forget(at: nil)), (.tokenDead(at: 7), .forget(at: 7)), (.tokenRejected, .park),
            (.unknown, .again(mayHaveArrived: true)), (.retry, .again(mayHaveArrived: false)),
            (.credential, .again(mayHaveArrived: false)), (.notSent, .again(mayHaveArrived: false)),
        ]
        for (answer, consequence) in meanings { #expect(answer.consequence == consequence, "\(answer)") }
    }

    @Test("A ring is repeated as a whole where nobody was reached, and not for a token's reason")
    func commonFailure() {
        func failure(of outcomes: [PushOutcome], accepted: Int = 0) -> String? {
            var exceptions = PushExceptions(activityKey: 1, backoff: Backoff())
            let refused = outcomes.enumerated().map { BatchOutcome.Exception(index: $0, outcome: $1) }
            exceptions.add(BatchOutcome(accepted: accepted, exceptions: refused)) { index in
                PushToken(bytes: [1]).map {
                    PushExceptions.Recipient(deviceKey: Int64(index), token: $0, failures: 0, heardIfRefused: 0)
                }
            }
            return exceptions.commonFailure
        }
        let (away, dead) = (PushOutcome.unavailable, PushOutcome.unregistered(at: nil))
        #expect(failure(of: [away, away]) == away.words)
        #expect(failure(of: [away, .noAnswer]) == away.words)
        #expect(failure(of: [away, away], accepted: 1) == nil)
        #expect(failure(of: [away]) == nil, "one destination is repeated alone")
        #expect(failure(of: [dead, dead]) == nil)
        #expect(failure(of: [away, dead]) == nil)
        #expect(failure(of: [.badToken, .badToken]) == nil)
        #expect(failure(of: [.badBody, .badBody]) == nil)
    }

    @Test(
        "A token's failure that is known late does nothing to the token that took its place",
        arguments: [PushOutcome.unregistered(at: nil), .badToken]
    )
    func lateFailure(outcome: PushOutcome) async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            try await world.update(score: 1)
            world.recorder.answer("aa01", with: outcome)
            let gate = world.recorder.close()
            async let walk: Void = world.settle()
            await gate.arrivals()
            try await world.follow("d1", token: "bb01")
            world.recorder.open()
            try await walk
            try await world.settle()
            #expect(try await world.subscription("d1") == "riding")
            #expect(world.recorder.pushes(to: "bb01").map(\.score) == [1])
        }
    }

    @Test("A 410 that contradicts the last report is believed after three repeats, until the next report")
    func contradiction() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            // Since 2001, which is before the report.
            world.recorder.answerAll(with: .unregistered(at: 1_000_000_000_000))
            try await world.update(score: 1)
            for round in 1...2 {
                for _ in 1...6 {
                    try await world.settle()
                    try await world.pass(31)
                }
                #expect(world.recorder.take().map(\.destination) == ["aa01", "aa01", "aa01", "aa01"])
                #expect(try await world.subscription("d1") == "dead")
                #expect(try await world.events(.tokenDied).count == round)
                // The app is sure of it.
                try await world.follow("d1", token: "aa01")
            }
        }
    }

    @Test("So is one about a start token")
    func contradictedStartToken() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            world.recorder.answerAll(with: .unregistered(at: 1_000_000_000_000))
            try await world.start(to: World.devices("d1"))
            for round in 1...2 {
                for _ in 1...6 {
                    try await world.settle()
                    try await world.pass(31)
                }
                #expect(world.recorder.take().map(\.destination) == ["5a01", "5a01", "5a01", "5a01"])
                #expect(try await world.word("SELECT state::text FROM start_tokens") == "dead")
                #expect(try await world.startState("d1") == "failed")
                #expect(try await world.events(.tokenDied).count == round)
                try await world.register("d1", token: "5a01")
            }
        }
    }

    @Test("A retry waits longer each time, up to the cap, and is not given up")
    func backoff() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            world.recorder.answerAll(with: .tooMany)
            try await world.update(score: 1)
            try await world.settle()
            for tries in 1...8 {
                #expect(try await world.number("SELECT failures FROM subscriptions") == Int64(tries))
                let wait = try await world.number(
                    "SELECT ceil(extract(epoch FROM due_at - clock_timestamp()))::int8 FROM subscriptions"
                )
                let longest = min(Int64(1) << (tries - 1), 30)
                #expect((wait ?? 0) <= longest)
                #expect((wait ?? 0) >= longest / 2 - 1)
                try await world.pass(31)
                try await world.settle()
            }
            world.recorder.answerAll(with: nil)
            try await world.pass(31)
            try await world.settle()
            #expect(try await world.subscription("d1") == "riding")
            #expect(try await world.number("SELECT failures FROM subscriptions") == 0)
        }
    }

    @Test("A segment whose work fails for our own reasons is left alone longer each time, too")
    func failingWork() async throws {
        try await withWorld(settings: OrchestratorSettings { $0.jitter = { 1 } }) { world in
            try await world.start()
            try await world.follow("d1", token: "aa01")
            try await world.database.execute("UPDATE activity_types SET policy = '{\"unknown\":1}'")
            for _ in 1...4 {
                try await world.hurry()
                try await world.settle()
            }
            #expect(try await world.number("SELECT failures::int8 FROM segments") == 4)
            let wait = try await world.number(
                "SELECT extract(epoch FROM due_at - clock_timestamp())::int8 FROM segments"
            )
            #expect((4...8).contains(wait ?? 0))
        }
    }

    @Test("The wait doubles from one second and lies between half of it and the whole")
    func waits() {
        let longest = Backoff(cap: .seconds(30)) { 1 }
        #expect(
            (1...7).map { longest.delay(afterFailures: $0) } == [1, 2, 4, 8, 16, 30, 30].map { .seconds($0) }
        )
        #expect(longest.delay(afterFailures: 1_000_000) == .seconds(30))
        let shortest = Backoff(cap: .seconds(30)) { 0 }
        #expect(shortest.delay(afterFailures: 3) == .seconds(2))
    }
}

import APITypes
import APNSTransport
import ActivityModel
import OrchestratorTestSupport
import Postgres
import Testing

@Suite("Tokens that are replaced", .timeLimit(.minutes(2)))
struct RotationTests {
    /// How the newest state came to the card, and whether it is sent again to a token that replaces its own.
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        /// What the report of the new token says.
        var known: Revision?
        let isSentAgain: Bool

        var testDescription: String { "\(name), known \(known.map(String.init) ?? "absent")" }
    }

    static let cases = [
        Case(name: "start", isSentAgain: false),
        Case(name: "report", isSentAgain: false),
        Case(name: "ring", isSentAgain: true),
        Case(name: "catch-up", isSentAgain: true),
        Case(name: "ring", known: 2, isSentAgain: false),
        Case(name: "catch-up", known: 2, isSentAgain: false),
    ]

    @Test(
        "A new token is sent what only APNs accepted for the old one, and not what the phone has confirmed",
        arguments: cases
    )
    func confirmed(example: Case) async throws {
        try await withWorld { world in
            switch example.name {
            case "start":
                try await world.register("d1", token: "5a01")
                try await world.start(to: World.devices("d1"))
                try await world.settle()
                try await world.follow("d1", token: "aa01")
            case "report":
                try await world.start()
                try await world.follow("d1", token: "aa01", known: 1)
            case "ring":
                try await world.start()
                try await world.follow("d1", token: "aa01", known: 1)
                try await world.settle()
                try await world.update(score: 1, alert: "Messi") { $0.urgency = .critical }
            default:
                try await world.start()
                try await world.update(score: 1, alert: "Messi") { $0.urgency = .critical }
                try await world.follow("d1", token: "aa01", known: 1)
            }
            try await world.settle()
            #expect(try await world.subscription("d1") == "riding")
            _ = world.recorder.take()
            try await world.follow("d1", token: "aa02", known: example.known)
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.destination) == (example.isSentAgain ? ["aa02"] : []))
            for push in pushes {
                // Neither the alert nor a unit of the budget is spent on it twice.
                #expect(push.score == 1)
                #expect(push.alert == nil)
                #expect(push.priority == .five)
            }
            #expect(try await world.subscription("d1") == "riding")
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            try await world.update(score: 9)
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["aa02"])
        }
    }

    @Test("A push that is sent again and fails is repeated until it arrives; a newer state takes its place")
    func again() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            try await world.update(score: 1)
            try await world.settle()
            world.recorder.answer("aa02", with: .unavailable, .unavailable)
            try await world.follow("d1", token: "aa02")
            for _ in 1...3 {
                try await world.settle()
                try await world.pass(31)
            }
            #expect(world.recorder.pushes(to: "aa02").map(\.score) == [1, 1, 1])
            world.recorder.answer("aa03", with: .unavailable)
            try await world.follow("d1", token: "aa03")
            try await world.settle()
            try await world.update(score: 2)
            for _ in 1...3 {
                try await world.settle()
                try await world.pass(31)
            }
            #expect(world.recorder.pushes(to: "aa03").map(\.score) == [1, 2])
            #expect(try await world.show().progress.current == 1)
        }
    }

    @Test("The end is sent again to a token that replaces the one that took it")
    func end() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.end(score: 5)
            try await world.settle()
            try await world.follow("d1", token: "aa02")
            try await world.settle()
            let push = try #require(world.recorder.pushes(to: "aa02").first)
            #expect(push.event == "end")
            #expect(push.score == 5)
            #expect(push.priority == .ten)
        }
    }

    @Test("A start that certainly never left tells nothing of a card that the app started itself")
    func startThatNeverLeft() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            world.recorder.answer("5a01", with: .tooMany)
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa01").map(\.event) == ["update"])
        }
    }

    @Test("The same token again, while its card waits after a failure, is tried after the pause and owed the same")
    func sameTokenWhileDue() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            world.recorder.answer("aa01", with: .tooMany)
            try await world.update(score: 1, alert: "Messi")
            try await world.settle()
            #expect(try await world.follow("d1", token: "aa01").state == .due)
            try await world.pass(60)
            try await world.settle()
            let pushes = world.recorder.pushes(to: "aa01")
            #expect(pushes.map(\.alert) == ["Messi", "Messi"])
        }
    }
}

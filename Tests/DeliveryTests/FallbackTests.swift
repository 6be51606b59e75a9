import APITypes
import APNSTransport
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import Testing

@Suite("Alerts that stand in for cards", .timeLimit(.minutes(2)))
struct FallbackTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var os: String? = "18.1"
        var enabled = true
        var token: String? = "5a01"
        var delivery = Delivery.tokens
        /// What leaves: to the start token, to the device's own token, or nothing.
        let destination: String?
        var reason: String?

        var testDescription: String { "\(os ?? "unknown") \(enabled) \(token ?? "no token") \(delivery)" }
    }

    static let cases = [
        Case(destination: "5a01"),
        Case(os: "16.4", token: nil, destination: "de01", reason: "needs_ios_17_2"),
        Case(os: "17.5", delivery: .channel, destination: "de01", reason: "needs_ios_18"),
        Case(enabled: false, destination: "de01", reason: "activities_disabled"),
        Case(enabled: false, token: nil, destination: "de01", reason: "activities_disabled"),
        // Nothing says that it will not have a token in a moment.
        Case(token: nil, destination: nil, reason: "no_start_token"),
    ]

    @Test("Where no card is possible an ordinary alert is sent to the device, if the policy says so", arguments: cases)
    func standsIn(example: Case) async throws {
        try await withWorld(policy: { $0.fallbackAlert = true }) { world in
            try await world.register(
                "d1",
                token: example.token,
                os: example.os,
                enabled: example.enabled,
                deviceToken: "de01"
            )
            try await world.start(to: World.devices("d1"), delivery: example.delivery)
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.destination) == [example.destination].compactMap { $0 })
            #expect(try await world.word("SELECT reason FROM starts") == example.reason)
            guard let reason = example.reason else { return }
            #expect(try await world.startState("d1") == "withheld", "\(reason)")
            guard let push = pushes.first else { return }
            #expect(push.topic == "com.example.app")
            #expect(push.type == .alert)
            #expect(push.priority == .ten)
            #expect(push.aps["alert"] == ["title": "Kick-off", "body": "Look"])
            #expect(push.aps["content-state"] == nil)
            #expect(push.body.object?["tally"]?.object?["activity_id"]?.string == "final")
        }
    }

    @Test("Without the policy, or without a device token, no alert is sent")
    func notWanted() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01", os: "17.1", deviceToken: "de01")
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
        }
        try await withWorld(policy: { $0.fallbackAlert = true }) { world in
            try await world.register("d1", token: "5a01", os: "17.1")
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test("It is sent once, however often the device registers; and when a card becomes possible, that is started")
    func once() async throws {
        try await withWorld(policy: { $0.fallbackAlert = true }) { world in
            try await world.register("d1", os: "17.1", deviceToken: "de01")
            try await world.start(to: World.devices("d1"))
            for _ in 1...3 {
                try await world.settle()
                try await world.register("d1", os: "17.1", deviceToken: "de01")
                try await world.pass(1000)
            }
            #expect(world.recorder.take().map(\.destination) == ["de01"])
            try await world.register("d1", token: "5a01", os: "18.2")
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["5a01"])
            #expect(try await world.startState("d1") == "sent")
        }
    }

    @Test("A used-up start budget is answered by an alert instead of waiting")
    func budget() async throws {
        try await withWorld(policy: {
            $0.fallbackAlert = true; $0.startBudget.count = 1
        }) { world in
            try await world.register("d1", token: "5a01", deviceToken: "de01")
            for id in ["a", "b"] { try await world.start(id, to: World.devices("d1")) }
            try await world.settle()
            try await world.pass(4000)
            try await world.settle()
            #expect(Set(world.recorder.take().map(\.destination)) == ["5a01", "de01"])
        }
    }

    @Test(
        "An alert that did not leave is repeated, one without an answer is not; a dead token is forgotten, a rejected one kept"
    )
    func answers() async throws {
        try await withWorld(policy: { $0.fallbackAlert = true }) { world in
            for number in 1...4 { try await world.register("d\(number)", os: "17.1", deviceToken: "de0\(number)") }
            world.recorder.answer("de01", with: .tooMany)
            world.recorder.answer("de02", with: .noAnswer)
            world.recorder.answer("de03", with: .unregistered(at: 4_102_444_800_000))
            world.recorder.answer("de04", with: .badToken)
            try await world.start(to: World.devices("d1", "d2", "d3", "d4"))
            for _ in 1...4 {
                try await world.settle()
                try await world.pass(200)
            }
            let counts = ["de01", "de02", "de03", "de04"].map { world.recorder.pushes(to: $0).count }
            #expect(counts == [2, 1, 1, 1])
            #expect(try await world.show().starts.withheld == 4)
            #expect(try await world.show().starts.repeated == 0)
            #expect(try await world.number("SELECT count(*) FROM devices WHERE device_token IS NULL") == 1)
            try await world.start("second", to: World.devices("d4"))
            try await world.settle()
            #expect(world.recorder.pushes(to: "de04").count == 1)
        }
    }

    @Test("A text that the app translates and a sound stand where ordinary alerts have them")
    func localized() async throws {
        try await withWorld(policy: { $0.fallbackAlert = true }) { world in
            try await world.register("d1", os: "17.1", deviceToken: "de01")
            try await world.start(to: World.devices("d1")) {
                $0.alert = AlertContent(
                    title: .localized(key: "T", arguments: ["a"]),
                    body: .localized(key: "B", arguments: []),
                    sound: "whistle.caf"
                )
            }
            try await world.settle()
            let push = try #require(world.recorder.take().first)
            #expect(push.aps["alert"] == ["title-loc-key": "T", "title-loc-args": ["a"], "loc-key": "B"])
            #expect(push.aps["sound"]?.string == "whistle.caf")
        }
    }
}

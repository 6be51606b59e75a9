import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import Testing

@testable import Orchestrator

@Suite("A new version beside an earlier one that phones follow by", .timeLimit(.minutes(2)))
struct WideningTests {
    private static func schema(_ phases: String) -> String {
        #"{"type":"object","properties":{"phase":{"enum":\#(phases)}},"required":["phase"]}"#
    }

    @Test("What is told of a difference that hurts nobody is a warning")
    func warning() async throws {
        try await withWorld { world in
            try await world.registerVersion(Self.schema(#"["first","second"]"#), from: nil, force: true)
            try await world.start { $0.contentState = ["phase": "first"] }
            let answer = try await world.registerVersion(Self.schema(#"["first","second","extra"]"#), from: "2.0")
            #expect(answer.compatibility.compatible)
            #expect(answer.compatibility.findings.map(\.code) == ["enum_widened"])
            #expect(answer.compatibility.findings.map(\.severity) == [.warning])
            #expect(answer.compatibility.findings.map(\.schemaVersion) == [2])
            // One that follows from now on is what such content is refused for.
            try await world.install("1.0", on: "old")
            try await world.follow("old", token: "aa01")
            let extra = try await refusingVersions {
                try await world.update(score: 0) { $0.contentState = ["phase": "extra"] }
            }
            #expect(extra == [2])
        }
    }

    /// Who is there when a version comes that lets in more than the two before, for apps from 3.0 on.
    struct Situation: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Who is named as standing against it, by the version that they decode.
        let words: [Int: String]
        let arrange: @Sendable (World) async throws -> Void

        init(_ name: String, _ words: [Int: String] = [:], _ arrange: @escaping @Sendable (World) async throws -> Void)
        {
            testDescription = name
            self.words = words
            self.arrange = arrange
        }
    }

    static let situations = [
        Situation("an activity without followers") { world in try await world.startBoth() },
        Situation("a card", [1: "apps of version 1.0 follow 'final'"]) { world in
            try await world.startBoth()
            try await world.join("1.0")
        },
        Situation("a card of an app that says no version", [1: "apps that do not say their version follow 'final'"]) {
            world in
            try await world.startBoth()
            try await world.join(nil)
        },
        Situation(
            "several",
            [1: "apps of version 1.0, apps of version 1.1, apps of version 1.2 and others follow 'final'"]
        ) {
            world in
            try await world.startBoth()
            for number in 0..<5 { try await world.join("1.\(number)") }
        },
        Situation("a start that waits", [1: "apps of version 1.0 follow 'final'"]) { world in
            try await world.install("1.0", on: "waiting", token: "a1")
            try await world.startBoth(to: World.devices("waiting"))
            try await world.settle()
        },
        Situation("an audience that nobody has looked at", [1: "apps of version 1.0 follow 'final'"]) { world in
            try await world.install("1.0", on: "later")
            try await world.startBoth(to: World.devices("later")) { $0.startsAt = Instant(unixSeconds: 4_000_000_000) }
        },
        Situation(
            "a channel",
            [1: "anybody may listen to the channel of 'final'", 2: "anybody may listen to the channel of 'final'"]
        ) { world in
            try await world.startBoth(delivery: .channel)
        },
        Situation(
            "a channel and a card",
            [
                1: "apps of version 1.0 follow 'final', and anybody may listen to the channel of 'final'",
                2: "anybody may listen to the channel of 'final'",
            ]
        ) { world in
            try await world.startBoth(delivery: .hybrid)
            try await world.join("1.0")
        },
        Situation("an app that decodes the new version") { world in
            try await world.startBoth()
            try await world.join("3.0")
        },
        Situation("a card that is gone") { world in
            try await world.startBoth()
            try await world.join("1.0")
            try await world.report("phone-1.0", .ended)
        },
        Situation("activities that have ended") { world in
            for delivery in [Delivery.tokens, .channel] {
                try await world.startBoth(delivery.rawValue, delivery: delivery)
                try await world.join("1.0", to: delivery.rawValue)
                try await world.end(delivery.rawValue)
            }
        },
        Situation("a card that is withheld") { world in
            try await world.startBoth()
            try await world.updateNew(1)
            try await world.join("1.0")
        },
        Situation("a card of a retired version") { world in
            try await world.retire(1)
            try await world.startBoth()
            try await world.join("1.0")
        },
        Situation("a card of another type") { world in
            let schema = try json(World.clockState)
            _ = try await world.orchestrator.putType(
                world.app,
                ActivityTypeName(stored: "Order"),
                TypeRequest(source: .schemas(attributes: json(World.attributesSchema), contentState: schema)),
                force: false
            )
            try await world.startBoth { $0.type = ActivityTypeName(stored: "Order") }
            try await world.join("1.0")
        },
    ]

    @Test("It is refused for the sake of those alone who could not be sent what it lets in", arguments: situations)
    func situation(_ situation: Situation) async throws {
        try await withWorld { world in
            try await world.registerVersion()
            try await situation.arrange(world)
            let wider = World.clockState.replacing("integer", with: "number")
            var answer: TypeRegistration?
            let refused = try await problem { answer = try await world.registerVersion(wider, from: "3.0") }
            #expect(answer?.compatibility.compatible == (situation.words.isEmpty ? true : nil))
            #expect(refused?.code == (situation.words.isEmpty ? nil : "incompatible_schema"))
            let hurt = (refused?.errors ?? []).compactMap { error in
                error.message.split(separator: " while ").dropFirst().first.map {
                    (error.schemaVersion ?? 0, String($0))
                }
            }
            #expect(Dictionary(hurt) { $0 + $1 } == situation.words)
        }
    }

    @Test("What is added to attributes hurts nothing that runs: attributes never change")
    func attributes() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.join("1.0")
            let state =
                #"{"type":"object","properties":{"score":{"type":"integer"},"note":{"type":"string"}},"required":["score"]}"#
            let attributes = World.attributesSchema.replacing(#""string""#, with: #"["string","null"]"#)
            let answer = try await world.registerVersion(state, attributes: attributes, from: "2.0")
            #expect(answer.compatibility.findings.map(\.code) == ["type_widened"])
            #expect(answer.compatibility.compatible)
        }
    }
}

extension World {
    /// Starts an activity with a state that the first two versions decode.
    fileprivate func startBoth(
        _ id: String = "final",
        to audience: Audience = Audience(),
        delivery: Delivery = .tokens,
        _ change: (inout StartRequest) -> Void = { _ in }
    ) async throws {
        try await start(id, to: audience, delivery: delivery) { request in
            request.contentState["clock"] = "0"
            change(&request)
        }
    }

    /// A phone with this version of the app has a card.
    fileprivate func join(_ app: String?, to id: String = "final") async throws {
        let device = "phone-\(app ?? "")"
        try await install(app, on: device)
        try await follow(device, token: app.map { "aa" + $0.replacing(".", with: "") } ?? "aa", in: id)
    }
}

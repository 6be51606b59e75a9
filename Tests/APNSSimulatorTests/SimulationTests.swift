import ActivityModel
import JSON
import Synchronization
import Testing

@testable import APNSSimulator

/// A simulation on a clock that stands still until it is moved, with everything that it asks for outside on record.
final class StillSimulation: Sendable {
    private let milliseconds = Mutex(Sample.start * 1000)
    private let followUps = Mutex<[FollowUp]>([])
    let memory = Mutex(ConnectionMemory())
    let settings: SimulationSettings

    init(settings: SimulationSettings = SimulationSettings()) {
        self.settings = settings
    }

    private let made = Mutex<Simulation?>(nil)

    var simulation: Simulation {
        made.withLock { made in
            if let made { return made }
            let simulation = Simulation(
                settings: settings,
                now: { [weak self] in
                    ClockReading(milliseconds: self?.milliseconds.withLock { $0 } ?? 0)
                },
                followUp: { [weak self] followUp, _ in self?.followUps.withLock { $0.append(followUp) } }
            )
            made = simulation
            return simulation
        }
    }

    func advance(milliseconds: Int64) { self.milliseconds.withLock { $0 += milliseconds } }

    func takeFollowUps() -> [FollowUp] {
        followUps.withLock { followUps in
            defer { followUps.removeAll() }
            return followUps
        }
    }

    /// Lets all phones have the tokens that they wait for, half a second later.
    func handOutTokens() {
        advance(milliseconds: 500)
        for case .awaitToken(let phone, let card, _) in takeFollowUps() {
            simulation.tokenReady(phone: phone, card: card)
        }
    }

    func phone(_ id: String = "phone-1") throws -> Phone {
        try #require(simulation.read { world, _ in world.phoneNumber(DeviceID(stored: id)).map { world.phones[$0] } })
    }

    func send(
        _ body: PushBodyText,
        to path: String,
        api: AppleAPI = .device,
        priority: String = "10",
        _ change: (inout RequestHeaders) -> Void = { _ in }
    ) throws -> Reaction {
        var headers = RequestHeaders()
        headers.authorization = try KeyRingTests.jwt()
        headers.pushType = "liveactivity"
        headers.priority = priority
        headers.expiration = "0"
        if api == .device { headers.topic = "com.example.game.push-type.liveactivity" }
        change(&headers)
        let request = APNSRequest(
            environment: .sandbox,
            api: api,
            method: "POST",
            path: path,
            headers: headers,
            body: Array(body.text.utf8)
        )
        return memory.withLock { simulation.receive(request, memory: &$0, connection: 1) }
    }
}

/// The text of a payload.
struct PushBodyText {
    let text: String

    static func start(input: JSONObject = ["input-push-token": 1], at seconds: Int64 = 0) -> PushBodyText {
        var aps: JSONObject = [
            "timestamp": .number(JSONNumber(Sample.start + seconds)), "event": "start",
            "attributes-type": "GameAttributes",
            "attributes": ["homeTeam": "ARG", "awayTeam": "FRA", "competition": "Final", "activityId": "final"],
            "content-state": Sample.state,
            "alert": ["title": "Kick-off", "body": "It begins"],
        ]
        for (key, value) in input.entries { aps[key] = value }
        return PushBodyText(text: JSONValue.object(["aps": .object(aps)]).text)
    }

    static func update(at seconds: Int64, event: String = "update") -> PushBodyText {
        let aps: JSONObject = [
            "timestamp": .number(JSONNumber(Sample.start + seconds)), "event": .string(event),
            "content-state": Sample.state,
        ]
        return PushBodyText(text: JSONValue.object(["aps": .object(aps)]).text)
    }
}

extension Reaction {
    var answer: AppleAnswer? {
        guard case .answer(let answer) = reply else { return nil }
        return answer
    }

    var reason: String? {
        answer.flatMap { try? JSONValue.parse($0.body) }?["reason"]?.string
    }
}

@Suite("Apple and phones together")
struct SimulationTests {
    private func launched(_ count: Int = 1) throws -> StillSimulation {
        let still = StillSimulation()
        still.simulation.addPhones((1...count).map { Sample.profile("phone-\($0)") })
        return still
    }

    private func updateToken(_ phone: Phone) throws -> String {
        guard case .token(let token) = try #require(phone.cards.last).link else {
            throw SimulatorError(.badAnswer, "the card has no token")
        }
        return token
    }

    @Test("a start reaches the phone, its token comes and takes updates and the end")
    func wholeLife() throws {
        let still = try launched()
        let startToken = try #require(try still.phone().startTokens[Sample.type])
        #expect(try still.send(.start(), to: "/3/device/\(startToken)").answer?.status == 200)
        still.handOutTokens()
        let token = try updateToken(still.phone())
        #expect(try still.send(.update(at: 1), to: "/3/device/\(token)", priority: "5").answer?.status == 200)
        #expect(try still.send(.update(at: 2, event: "end"), to: "/3/device/\(token)").answer?.status == 200)
        let phone = try still.phone()
        #expect(phone.received.map(\.verdict) == [.started, .shown, .ended])
        #expect(phone.received.map(\.priority) == [10, 5, 10])
        #expect(phone.received.map(\.sequence) == [1, 2, 3])
    }

    @Test("reports follow a launch and a new token")
    func reports() throws {
        let still = try launched()
        let launch = still.takeFollowUps()
        #expect(launch.count == 1)
        let startToken = try #require(try still.phone().startTokens[Sample.type])
        _ = try still.send(.start(), to: "/3/device/\(startToken)")
        still.handOutTokens()
        guard case .report(let profile, .subscription(let report)) = try #require(still.takeFollowUps().first) else {
            Issue.record("no report")
            return
        }
        #expect(profile.id == DeviceID(stored: "phone-1"))
        #expect(report.link == .token(try updateToken(still.phone())))
    }

    @Test("a rotated token answers 410 with the moment of the rotation")
    func rotatedToken() throws {
        let still = try launched()
        let startToken = try #require(try still.phone().startTokens[Sample.type])
        _ = try still.send(.start(), to: "/3/device/\(startToken)")
        still.handOutTokens()
        let old = try updateToken(still.phone())
        still.simulation.perform(PhoneAction(.rotate), on: [DeviceID(stored: "phone-1")])
        still.advance(milliseconds: 5)
        let reaction = try still.send(.update(at: 1), to: "/3/device/\(old)")
        #expect(reaction.answer?.status == 410)
        #expect(reaction.answer?.body == Array(#"{"reason":"Unregistered","timestamp":1800000000500}"#.utf8))
    }

    @Test("a token outlives its activity by nothing")
    func expiredToken() throws {
        let still = try launched()
        let startToken = try #require(try still.phone().startTokens[Sample.type])
        _ = try still.send(.start(), to: "/3/device/\(startToken)")
        still.handOutTokens()
        let token = try updateToken(still.phone())
        still.advance(milliseconds: 8 * 3_600_000)
        let reaction = try still.send(.update(at: 8 * 3600), to: "/3/device/\(token)") {
            $0.authorization = try? KeyRingTests.jwt(
                KeyRingTests.header,
                ["iss": "TEAM123456", "iat": .number(JSONNumber(Sample.start + 8 * 3600))]
            )
        }
        #expect(reaction.reason == "ExpiredToken")
    }

    @Test("a broadcast reaches the phones that started on the channel, and no more after its deletion")
    func broadcast() throws {
        let still = try launched(3)
        let created = try still.send(
            PushBodyText(text: #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#),
            to: "/1/apps/com.example.game/channels",
            api: .channels
        )
        #expect(created.answer?.status == 201)
        let channel = try #require(created.answer?.headers.first { $0.name == "apns-channel-id" }).value
        for id in ["phone-1", "phone-2"] {
            let token = try #require(try still.phone(id).startTokens[Sample.type])
            _ = try still.send(.start(input: ["input-push-channel": .string(channel)]), to: "/3/device/\(token)")
        }
        let path = "/4/broadcasts/apps/com.example.game"
        let sent = try still.send(.update(at: 1), to: path, api: .broadcast) { $0.channelID = channel }
        #expect(sent.answer?.status == 200)
        #expect(try ["phone-1", "phone-2", "phone-3"].map { try still.phone($0).received.count } == [2, 2, 0])
        still.simulation.adjust { world, _ in world.deleteChannel(channel) }
        let late = try still.send(.update(at: 2), to: path, api: .broadcast) { $0.channelID = channel }
        #expect(late.reason == "ChannelNotRegistered")
    }

    @Test("a connection may open streams only after a request with a valid token has succeeded")
    func streamLimit() throws {
        let still = try launched()
        let token = try #require(try still.phone().startTokens[Sample.type])
        #expect(try still.send(.start(), to: "/3/device/\(token)") { $0.authorization = nil }.streamLimit == nil)
        #expect(try still.send(.start(), to: "/3/device/ffff").streamLimit == nil)
        #expect(try still.send(.start(), to: "/3/device/\(token)").streamLimit == 1000)
        #expect(try still.send(.start(), to: "/3/device/\(token)").streamLimit == nil)
    }

    @Test("answers carry the caller's id or a new one, and the sandbox one more")
    func ids() throws {
        let still = try launched()
        let id = "5f0c6b9e-2b8c-4e58-9e4f-0b6e0b6a5c11"
        let echoed = try still.send(.start(), to: "/3/device/ffff") { $0.messageID = id }.answer
        #expect(echoed?.headers.first == AppleAnswer.Header("apns-id", id))
        #expect(echoed?.headers.dropFirst().first?.name == "apns-unique-id")
        let own = try #require(try still.send(.start(), to: "/3/device/ffff").answer?.headers.first)
        #expect(HeaderForms.isCanonicalUUID(own.value))
    }

    @Test(
        "a lost answer was processed, silence and a refused stream were not",
        arguments: [(Fault.Effect.lostAnswer, 1), (.silence, 0), (.refuseStream, 0), (.dropConnection, 0)]
    )
    func processing(_ effect: Fault.Effect, _ received: Int) throws {
        let still = try launched()
        still.simulation.adjust { world, _ in world.faults.set(Fault(name: "x", effect: effect)) }
        let token = try #require(try still.phone().startTokens[Sample.type])
        let reaction = try still.send(.start(), to: "/3/device/\(token)")
        #expect(reaction.answer == nil)
        #expect(try still.phone().received.count == received)
    }

    @Test("requests are counted by event, priority and status")
    func counts() throws {
        let still = try launched()
        let token = try #require(try still.phone().startTokens[Sample.type])
        _ = try still.send(.start(), to: "/3/device/\(token)")
        _ = try still.send(.update(at: 1), to: "/3/device/ffff", priority: "5")
        _ = try still.send(.update(at: 1), to: "/3/device/ffff", priority: "5")
        let counts = still.simulation.read { world, _ in world.counts.counts }
        #expect(
            counts == [
                ReceivedPushCounts.Key(event: "start", priority: 10, status: 200, reason: nil): 1,
                ReceivedPushCounts.Key(event: "update", priority: 5, status: 400, reason: "BadDeviceToken"): 2,
            ]
        )
    }
}

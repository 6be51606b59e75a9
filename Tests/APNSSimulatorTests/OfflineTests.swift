import ActivityModel
import JSON
import Testing

@testable import APNSSimulator

@Suite("Phones that Apple cannot reach")
struct OfflineTests {
    private let still: StillSimulation

    init() { still = StillSimulation() }

    private func perform(_ kind: PhoneAction.Kind, _ still: StillSimulation) {
        still.simulation.perform(PhoneAction(kind), on: [DeviceID(stored: "phone-1")])
    }

    /// A phone with a card, and the way to it.
    private func started(_ still: StillSimulation) throws -> String {
        still.simulation.addPhones([Sample.profile()])
        let start = try #require(try still.phone().startTokens[Sample.type])
        _ = try still.send(.start(), to: "/3/device/\(start)")
        still.handOutTokens()
        guard case .token(let token) = try still.phone().cards[0].link else {
            throw SimulatorError(.refused, "no token")
        }
        return "/3/device/\(token)"
    }

    /// A phone that follows a channel.
    private func subscribed(_ still: StillSimulation, _ storage: ChannelStorage) -> String {
        still.simulation.addPhones([Sample.profile()])
        let id = still.simulation.adjust { world, _ in
            world.createChannel(bundleID: "com.example.game", environment: .sandbox, storage: storage)
        }
        var join = PhoneAction(.join, activityID: Sample.final)
        join.channelID = id
        still.simulation.perform(join, on: [DeviceID(stored: "phone-1")])
        return id
    }

    private func broadcast(_ second: Int64, to channel: String, _ still: StillSimulation, expires: Int64) throws {
        let reaction = try still.send(
            .update(at: second),
            to: "/4/broadcasts/apps/com.example.game",
            api: .broadcast
        ) {
            $0.channelID = channel
            $0.expiration = "\(expires)"
        }
        #expect(reaction.answer?.status == 200)
    }

    private func timestamps(_ still: StillSimulation) throws -> [Int64] {
        try still.phone().received.compactMap(\.body.timestamp).map { $0 - Sample.start }
    }

    @Test("of the pushes by token the last one waits, unless it was for one attempt or has expired")
    func byToken() throws {
        let path = try started(still)
        perform(.goOffline, still)
        for second in 10...12 {
            _ = try still.send(.update(at: Int64(second)), to: path) { $0.expiration = "\(Sample.start + 100)" }
        }
        _ = try still.send(.update(at: 13), to: path) { $0.expiration = "0" }
        #expect(try timestamps(still) == [0])
        perform(.comeOnline, still)
        #expect(try timestamps(still) == [0, 12])
        perform(.goOffline, still)
        _ = try still.send(.update(at: 20), to: path) { $0.expiration = "\(Sample.start + 100)" }
        still.advance(milliseconds: 200_000)
        perform(.comeOnline, still)
        #expect(try timestamps(still) == [0, 12])
    }

    @Test("a channel that stores keeps its most recent message for eight hours, beyond its own end")
    func storing() throws {
        let channel = subscribed(still, .mostRecent)
        perform(.goOffline, still)
        let later = Sample.start + 30 * 86_400
        try broadcast(10, to: channel, still, expires: later)
        try broadcast(11, to: channel, still, expires: later)
        still.simulation.adjust { world, _ in world.deleteChannel(channel) }
        perform(.comeOnline, still)
        #expect(try timestamps(still) == [11])
        #expect(try still.phone().received.last?.verdict == .shown)
    }

    @Test("after eight hours a channel's message is gone, whatever its expiration says")
    func tooLong() throws {
        let channel = subscribed(still, .mostRecent)
        perform(.goOffline, still)
        try broadcast(10, to: channel, still, expires: Sample.start + 30 * 86_400)
        still.advance(milliseconds: 8 * 3_600_000)
        perform(.comeOnline, still)
        #expect(try timestamps(still).isEmpty)
    }

    @Test("a channel that stores nothing is heard by those who are there")
    func storingNothing() throws {
        let channel = subscribed(still, .none)
        try broadcast(10, to: channel, still, expires: 0)
        perform(.goOffline, still)
        try broadcast(11, to: channel, still, expires: 0)
        perform(.comeOnline, still)
        #expect(try timestamps(still) == [10])
    }

    @Test("who subscribes later gets what is stored only in a world that says so", arguments: [false, true])
    func late(_ gives: Bool) throws {
        var settings = SimulationSettings()
        settings.givesStoredToLateSubscribers = gives
        let still = StillSimulation(settings: settings)
        let channel = still.simulation.adjust { world, _ in
            world.createChannel(bundleID: "com.example.game", environment: .sandbox, storage: .mostRecent)
        }
        try broadcast(10, to: channel, still, expires: Sample.start + 3600)
        still.simulation.addPhones([Sample.profile()])
        var join = PhoneAction(.join, activityID: Sample.final)
        join.channelID = channel
        still.simulation.perform(join, on: [DeviceID(stored: "phone-1")])
        #expect(try timestamps(still) == (gives ? [10] : []))
    }
}

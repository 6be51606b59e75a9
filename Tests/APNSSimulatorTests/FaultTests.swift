import APITypes
import ActivityModel
import JSON
import Testing

@testable import APNSSimulator

@Suite("Faults")
struct FaultTests {
    private let subject = FaultSubject(
        environment: .sandbox,
        api: .device,
        token: "ab",
        topic: "com.example.game.push-type.liveactivity",
        phone: DeviceID(stored: "phone-1"),
        connection: 2,
        event: .update
    )

    private func strikes(_ fault: Fault, times: Int = 1, now: Int64 = 0) -> [Bool] {
        var table = FaultTable(seed: 1)
        table.set(fault)
        return (0..<times).map { _ in table.effect(on: subject, now: now) != nil }
    }

    @Test("a fault hits what it names and nothing else", arguments: matches)
    func match(_ name: String, _ match: @Sendable (inout Fault.Match) -> Void, _ hits: Bool) {
        var fault = Fault(name: name, effect: .silence)
        match(&fault.match)
        #expect(strikes(fault) == [hits])
    }

    @Test("a fault skips, hits so many times and is spent")
    func counting() {
        let fault = Fault(name: "x", effect: .silence, skip: 1, count: 2)
        #expect(strikes(fault, times: 5) == [false, true, true, false, false])
    }

    @Test("a fault ends with its time", arguments: [(999, true), (1000, false)])
    func ending(_ now: Int64, _ hits: Bool) {
        #expect(strikes(Fault(name: "x", effect: .silence, until: 1000), now: now) == [hits])
    }

    @Test("a fault of probability one half hits about half of the time, and the same half each time")
    func probability() {
        let fault = Fault(name: "x", effect: .silence, probability: 0.5)
        let first = strikes(fault, times: 1000)
        #expect((400...600).contains(first.count { $0 }))
        #expect(strikes(fault, times: 1000) == first)
    }

    @Test("the fault that was set first speaks, and one of the same name replaces it")
    func order() {
        var table = FaultTable(seed: 1)
        table.set(Fault(name: "a", effect: .silence))
        table.set(Fault(name: "b", effect: .dropConnection))
        #expect(table.effect(on: subject, now: 0) == .silence)
        table.set(Fault(name: "a", effect: .refuseStream))
        #expect(table.effect(on: subject, now: 0) == .dropConnection)
        #expect(table.hits == ["a": 0, "b": 1])
    }

    @Test("every effect survives its JSON form", arguments: effects)
    func json(_ effect: Fault.Effect) throws {
        var request = FaultRequest(Fault(name: "x", effect: effect, skip: 1, count: 2, probability: 0.5), seconds: 3)
        request.fault.match.event = .end
        request.fault.match.token = "ab"
        #expect(try FaultRequest(json: request.json) == request)
    }
}

private let effects: [Fault.Effect] = [
    .answer(APNSRefusal(status: 410, reason: "Unregistered", timestamp: 5)), .silence, .lostAnswer,
    .delay(milliseconds: 20), .refuseStream, .reset(code: 8), .goAway(code: 0, reason: "Shutdown"), .dropConnection,
    .streamLimit(7),
]

private let matches: [(String, @Sendable (inout Fault.Match) -> Void, Bool)] = [
    ("everything", { _ in }, true),
    ("environment", { $0.environment = .sandbox }, true),
    ("other environment", { $0.environment = .production }, false),
    ("API", { $0.api = .device }, true),
    ("other API", { $0.api = .channels }, false),
    ("token", { $0.token = "ab" }, true),
    ("other token", { $0.token = "cd" }, false),
    ("topic", { $0.topic = "com.example.game.push-type.liveactivity" }, true),
    ("phone", { $0.phone = DeviceID(stored: "phone-1") }, true),
    ("other phone", { $0.phone = DeviceID(stored: "phone-2") }, false),
    ("connection", { $0.connection = 2 }, true),
    ("other connection", { $0.connection = 1 }, false),
    ("event", { $0.event = .update }, true),
    ("other event", { $0.event = .end }, false),
    ("channel", { $0.channelID = "AAAA" }, false),
]

import APITypes
import ActivityModel
import Foundation
import HTTP2Engine
import JSON
import Synchronization
import Testing

@testable import APNSSimulator

@Suite("The simulator on real sockets", .timeLimit(.minutes(1)))
struct LiveTests {
    private static func jwt() throws -> String {
        try KeyRingTests.jwt(
            KeyRingTests.header,
            ["iss": "TEAM123456", "iat": .number(JSONNumber(Int64(Date().timeIntervalSince1970)))]
        )
    }

    private static func start() -> String {
        let now = Int64(Date().timeIntervalSince1970)
        return PushBodyText.start(at: now - Sample.start).text
    }

    private func startToken(_ simulator: SimulatorService, _ id: String) throws -> String {
        let phone = simulator.simulation.read { world, _ in
            world.phoneNumber(DeviceID(stored: id)).map { world.phones[$0] }
        }
        return try #require(phone?.startTokens[Sample.type])
    }

    @Test("one stream at first, many after a success, and a whole card by push")
    func push() async throws {
        try await withSimulator { simulator, addresses, control in
            #expect(try await control.create(newPhones(2)) == "2 phones made: p-1 to p-2")
            let port = try #require(addresses.ports[ListenerRole(.sandbox, .device)])
            let client = try await LiveClient(to: addresses, port: port)
            var events = client.events.makeAsyncIterator()
            #expect(await events.next() == .streams(1))
            let jwt = try Self.jwt()
            let first = "/3/device/\(try startToken(simulator, "p-1"))"
            try await client.send([first], authorization: jwt, body: Self.start())
            var seen = [await events.next(), await events.next()]
            #expect(seen.contains(.answer(tag: 0, status: 200, body: "")))
            #expect(seen.contains(.streams(1000)))
            let second = "/3/device/\(try startToken(simulator, "p-2"))"
            try await client.send([second, "/3/device/ffff"], authorization: jwt, body: Self.start())
            seen = [await events.next(), await events.next()]
            #expect(seen.contains(.answer(tag: 0, status: 200, body: "")))
            #expect(seen.contains(.answer(tag: 1, status: 400, body: #"{"reason":"BadDeviceToken"}"#)))
            await client.close()

            let story = try JSONValue(parsing: try await control.text(of: "/phones/p-1"))
            #expect(story["activities"]?[0]?["state"] == "active")
            #expect(story["pushes"]?[0]?["verdict"] == "started")
        }
    }

    @Test("faults reach the connection: a refused stream, a GOAWAY with its reason, a cut")
    func faults() async throws {
        try await withSimulator { simulator, addresses, control in
            _ = try await control.create(newPhones(1))
            let port = try #require(addresses.ports[ListenerRole(.sandbox, .device)])
            let client = try await LiveClient(to: addresses, port: port)
            var events = client.events.makeAsyncIterator()
            #expect(await events.next() == .streams(1))
            let path = "/3/device/\(try startToken(simulator, "p-1"))"
            let jwt = try Self.jwt()

            simulator.control.set(FaultRequest(Fault(name: "refuse", effect: .refuseStream, count: 1)))
            try await client.send([path], authorization: jwt, body: Self.start())
            #expect(await events.next() == .failed(tag: 0, .refused))

            simulator.control.set(
                FaultRequest(Fault(name: "away", effect: .goAway(code: 0, reason: "Shutdown"), count: 1))
            )
            try await client.send([path], authorization: jwt, body: Self.start())
            var seen: [Seen] = []
            while let event = await events.next() { seen.append(event) }
            #expect(seen.contains(.answer(tag: 0, status: 200, body: "")))
            #expect(seen.contains(.goneAway(.noError, #"{"reason":"Shutdown"}"#)))
            await client.close()

            let other = try await LiveClient(to: addresses, port: port)
            var otherEvents = other.events.makeAsyncIterator()
            #expect(await otherEvents.next() == .streams(1))
            simulator.control.set(FaultRequest(Fault(name: "cut", effect: .dropConnection, count: 1)))
            try await other.send([path], authorization: jwt, body: Self.start())
            #expect(await otherEvents.next() == .failed(tag: 0, .connectionLost))
            #expect(await otherEvents.next() == .closed)
            await other.close()
            let summary = try JSONValue(parsing: try await control.text(of: "/summary"))
            #expect(summary["fault_hits"]?["cut"] == 1)
        }
    }

    @Test("an expired certificate drops connections and lets none begin, until a valid one is shown again")
    func expiredCertificate() async throws {
        try await withSimulator { simulator, addresses, _ in
            let port = try #require(addresses.ports[ListenerRole(.sandbox, .device)])
            let before = try await LiveClient(to: addresses, port: port)
            var events = before.events.makeAsyncIterator()
            #expect(await events.next() == .streams(1))

            await simulator.control.show(CertificateRequest(expired: true))
            #expect(await events.next() == .closed)
            await before.close()
            let during = try await LiveClient(to: addresses, port: port)
            var failures = during.events.makeAsyncIterator()
            #expect(await failures.next() == .closed)
            await during.close()

            await simulator.control.show(CertificateRequest(expired: false))
            let after = try await LiveClient(to: addresses, port: port)
            var successes = after.events.makeAsyncIterator()
            #expect(await successes.next() == .streams(1))
            await after.close()
        }
    }

    @Test("bad tokens slow the connection down and end it, with the reason; dead ones do not")
    func penalties() async throws {
        try await withSimulator {
            $0.penalties.slowDown = 10
            $0.penalties.close = 20
        } _: { simulator, addresses, control in
            _ = try await control.create(newPhones(1))
            let dead = "/3/device/\(try startToken(simulator, "p-1"))"
            _ = try simulator.control.perform([PhoneAction(.rotateStart, prefix: "p-")])
            let port = try #require(addresses.ports[ListenerRole(.sandbox, .device)])
            let client = try await LiveClient(to: addresses, port: port)
            var events = client.events.makeAsyncIterator()
            #expect(await events.next() == .streams(1))
            let jwt = try Self.jwt()
            try await client.send(
                ["/3/device/\(try startToken(simulator, "p-1"))"],
                authorization: jwt,
                body: Self.start()
            )
            for _ in 0..<2 { _ = await events.next() }

            try await client.send(Array(repeating: dead, count: 50), authorization: jwt, body: Self.start())
            for _ in 0..<50 {
                guard case .answer(_, 410, _) = await events.next() else {
                    Issue.record("no 410")
                    break
                }
            }
            try await client.send(Array(repeating: "/3/device/ffff", count: 2), authorization: jwt, body: Self.start())
            var seen: [Seen] = []
            for _ in 0..<3 { if let event = await events.next() { seen.append(event) } }
            #expect(seen.contains(.streams(500)))
            try await client.send(Array(repeating: "/3/device/ffff", count: 2), authorization: jwt, body: Self.start())
            while let event = await events.next() { seen.append(event) }
            #expect(seen.contains(.goneAway(.noError, #"{"reason":"BadDeviceToken"}"#)))
            await client.close()
        }
    }

    @Test("the control API says what is wrong with a request")
    func control() async throws {
        try await withSimulator { _, _, control in
            var phones = newPhones(1)
            phones.add("os_version", "18.1\n")
            await #expect(throws: SimulatorError.self) { try await control.create(phones) }
            await #expect(throws: SimulatorError.self) { try await control.text(of: "/phones/nobody") }
            let unknown = await #expect(throws: SimulatorError.self) {
                try await control.act("dance", phones: [], prefix: nil, activityID: nil, channelID: nil)
            }
            #expect(unknown?.code == .refused)
            _ = try await control.create(newPhones(3))
            let count = try await control.act("rotate", phones: [], prefix: "p-", activityID: nil, channelID: nil)
            #expect(count == 3)
        }
    }
}

/// Accepts every report after it has refused the first ones, and keeps what it accepted.
private final class Receiver: TallyReporting {
    private let refusals: Mutex<Int>
    let accepted: AsyncStream<PhoneReport>
    private let continuation: AsyncStream<PhoneReport>.Continuation

    init(refusals: Int) {
        self.refusals = Mutex(refusals)
        (accepted, continuation) = AsyncStream.makeStream()
    }

    func report(_ report: DeviceReport, of phone: PhoneProfile) async throws { try take(.device(report)) }

    func report(_ report: SubscriptionReport, of phone: PhoneProfile) async throws { try take(.subscription(report)) }

    private func take(_ report: PhoneReport) throws {
        let refused = refusals.withLock { refusals in
            defer { refusals -= 1 }
            return refusals > 0
        }
        if refused { throw SimulatorError(.unreachable, "not yet") }
        continuation.yield(report)
    }
}

extension LiveTests {
    @Test("reports wait for a Tally, are repeated until it accepts them, and keep their order")
    func reports() async throws {
        try await withSimulator { simulator, addresses, control in
            _ = try await control.create(newPhones(1))
            let join = PhoneAction(.join, prefix: "p-", activityID: Sample.final)
            _ = try simulator.control.perform([join])
            #expect(simulator.desk.overview.pending == 2)
            let receiver = Receiver(refusals: 2)
            simulator.desk.connect(receiver)
            var accepted = receiver.accepted.makeAsyncIterator()
            guard case .device = await accepted.next(), case .subscription(let report) = await accepted.next() else {
                Issue.record("out of order")
                return
            }
            // Generations of a later run are greater than those of an earlier one.
            #expect(report.generation > Sample.start)
        }
    }
}

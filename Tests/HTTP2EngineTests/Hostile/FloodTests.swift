import HTTP2TestSupport
import Testing

@testable import HTTP2Engine

/// Frames that are each allowed, without end: what we keep stays bounded whether or not the peer reads our answers.
@Suite("Floods", .bothSessions)
struct FloodTests {
    /// One kind of frame again and again, with the number of the repetition.
    struct Flood: Sendable, CustomTestStringConvertible {
        let name: String
        let role: Victim.Role
        /// Before the flood.
        var opening: [UInt8] = RawFrame.settingsAcknowledgement
        let frame: @Sendable (UInt32) -> [UInt8]

        var testDescription: String { "\(name), against a \(role.rawValue)" }
    }

    private static let repetitions: UInt32 = 30_000
    /// What the library may hold for one connection: a thousand answers of some 200 bytes, one piece of 64 KiB turned
    /// into the smallest frames, and its tables.
    private static let bound = 2 << 20

    private static let floods: [Flood] =
        Victim.Role.allCases.flatMap { role in
            [
                Flood(name: "PING", role: role) { _ in RawFrame.ping(1) },
                Flood(name: "SETTINGS", role: role) { RawFrame.settings([(4, 65_535 + $0 % 2)]) },
                Flood(name: "empty SETTINGS", role: role) { _ in RawFrame.settings() },
                Flood(name: "WINDOW_UPDATE of the connection", role: role) { _ in RawFrame.windowUpdate(1) },
                Flood(name: "PRIORITY of ever new streams", role: role) {
                    RawFrame.frame(type: 2, stream: $0 * 2 + 1001, [0, 0, 0, 1, 9])
                },
                Flood(name: "unknown frames", role: role) { _ in RawFrame.frame(type: 99, RawFrame.text(20)) },
                Flood(name: "GOAWAY", role: role) { _ in RawFrame.goAway(last: role == .client ? 1 : 0, code: 0) },
            ]
        } + streams

    private static let streams = [
        Flood(name: "streams that are reset at once", role: .server) {
            RawFrame.headers(stream: $0 * 2 + 1, ends: false, RawFrame.request)
                + RawFrame.reset(stream: $0 * 2 + 1, code: 8)
        },
        Flood(name: "requests that are malformed", role: .server) {
            RawFrame.headers(stream: $0 * 2 + 1, ends: true, [0x82])
        },
        Flood(name: "streams above a limit that was never acknowledged", role: .server, opening: []) {
            RawFrame.headers(stream: $0 * 2 + 1, ends: false, RawFrame.request)
        },
        Flood(name: "requests whose fields are too large", role: .server) {
            RawFrame.headers(
                stream: $0 * 2 + 1,
                ends: true,
                RawFrame.request + RawFrame.field(bytes: [97], RawFrame.text(990))
            )
        },
        Flood(name: "a stream's window overdrawn", role: .server) {
            RawFrame.headers(stream: $0 * 2 + 1, ends: false, RawFrame.request)
                + RawFrame.windowUpdate(stream: $0 * 2 + 1, 0x7fff_ffff)
        },
        Flood(name: "whole requests", role: .server) {
            RawFrame.headers(stream: $0 * 2 + 1, ends: true, RawFrame.request)
        },
        Flood(name: "empty DATA", role: .server, opening: RawFrame.headers(stream: 1, ends: false, RawFrame.request)) {
            _ in
            RawFrame.data(stream: 1, ends: false, [])
        },
        Flood(name: "empty DATA", role: .client, opening: RawFrame.headers(stream: 1, ends: false, RawFrame.ok)) { _ in
            RawFrame.data(stream: 1, ends: false, [])
        },
        Flood(name: "interim answers", role: .client) { _ in
            RawFrame.headers(stream: 1, ends: false, RawFrame.field(":status", "103") + RawFrame.field("a", "b"))
        },
        Flood(
            name: "DATA beyond the allowed body",
            role: .client,
            opening: RawFrame.headers(stream: 1, ends: false, RawFrame.ok)
        ) { _ in
            RawFrame.data(stream: 1, ends: false, RawFrame.text(100))
        },
        Flood(name: "fields that are too large", role: .client) { _ in
            RawFrame.headers(
                stream: 1,
                ends: false,
                RawFrame.field(":status", "103") + RawFrame.field(bytes: [97], RawFrame.text(1000))
            )
        },
        Flood(name: "pushed streams before it knows that we want none", role: .client, opening: []) {
            RawFrame.frame(type: 5, flags: 4, stream: 1, RawFrame.bytes($0 * 2 + 2) + RawFrame.request)
                + RawFrame.headers(stream: $0 * 2 + 2, ends: false, RawFrame.ok)
        },
        Flood(
            name: "RST_STREAM after the end",
            role: .client,
            opening: RawFrame.headers(stream: 1, ends: true, RawFrame.ok)
        ) { _ in
            RawFrame.reset(stream: 1, code: 8)
        },
    ]

    @Test("what we keep is bounded, whether the peer reads or not", arguments: floods, [true, false])
    func bounded(flood: Flood, peerReads: Bool) throws {
        let victim = try Victim(flood.role)
        victim.feed((flood.role == .server ? RawFrame.preface : []) + RawFrame.settings())
        try victim.submit(1)
        victim.peerReads = peerReads
        victim.feed(flood.opening)
        var bytes: [UInt8] = []
        for number in 0..<Self.repetitions where !victim.isOver {
            bytes += flood.frame(number)
            guard bytes.count > 60_000 else { continue }
            victim.feed(bytes)
            bytes.removeAll(keepingCapacity: true)
        }
        victim.feed(bytes)
        #expect(victim.memory.peak < Self.bound)
        #expect(victim.waitingBytes < Self.bound)
        #expect(victim.slots <= Victim.maximumStreams)
        #expect(victim.keptBytes <= Victim.maximumStreams * (Victim.maximumBody + Victim.maximumHeaders))
        #expect(victim.end() == [])
    }
}

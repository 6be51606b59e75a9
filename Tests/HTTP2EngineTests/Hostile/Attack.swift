import Testing

@testable import HTTP2Engine

/// Something that a hostile peer sends once the connection is up, and what must come of it.
///
/// A client under attack has opened stream 1 (tag 1); a server has seen nothing but the client's SETTINGS.
struct Attack: Sendable, CustomTestStringConvertible {
    enum Expectation: Equatable, Sendable {
        /// The connection ends with a GOAWAY of this code, and the session knows a reason.
        case connectionEnds(HTTP2ErrorCode)
        /// The connection ends with an error and without a word to the peer.
        case connectionFails(HTTP2Error.Code)
        /// The connection goes on and a request of the client came to this.
        case outcome(Victim.Outcome)
        /// The connection goes on and the server has reset stream 1.
        case resets(HTTP2ErrorCode)
        /// The connection goes on and the server has taken so many requests.
        case requests(Int)
        /// The session is finished, and nobody is to blame.
        case closes
        /// The connection goes on as if nothing had been said.
        case ignored
    }

    let name: String
    let bytes: [UInt8]
    let expectation: Expectation

    init(_ name: String, _ bytes: [UInt8], _ expectation: Expectation) {
        self.name = name
        self.bytes = bytes
        self.expectation = expectation
    }

    var testDescription: String { name }

    /// What the library may hold after any single attack of the table: a few streams and frames.
    private static let memoryBound = 256 * 1024

    func run(against role: Victim.Role) throws {
        let victim = try Victim(role)
        victim.speak()
        victim.feed((role == .server ? RawFrame.preface : []) + RawFrame.settings() + RawFrame.settingsAcknowledgement)
        try victim.submit(1)
        victim.feed(bytes)
        switch expectation {
        case .connectionEnds(let code):
            #expect(victim.isOver)
            #expect(victim.violation != nil)
            #expect(victim.sentFrames.last?.type == 7)
            #expect(victim.sentFrames.last?.errorCode == code)
        case .connectionFails(let code):
            #expect(victim.error?.code == code)
        case .outcome(let outcome):
            #expect(!victim.isOver)
            #expect(victim.violation == nil)
            #expect(victim.outcomes.map(\.outcome) == [outcome])
        case .resets(let code):
            #expect(!victim.isOver)
            #expect(victim.violation == nil)
            #expect(victim.openStreams == 0)
            #expect(victim.requests.isEmpty)
            #expect(victim.sentFrames.filter { $0.type == 3 }.map(\.errorCode) == [code])
        case .requests(let count):
            #expect(!victim.isOver)
            #expect(victim.requests.count == count)
        case .closes:
            #expect(victim.isOver)
            #expect(victim.error == nil && victim.violation == nil)
        case .ignored:
            #expect(!victim.isOver)
            #expect(victim.outcomes.isEmpty && victim.requests.isEmpty)
            #expect(!victim.sentFrames.contains { $0.type == 3 || $0.type == 7 })
            try stillWorks(victim)
        }
        #expect(victim.memory.peak < Self.memoryBound)
        #expect(victim.end() == [])
    }

    private func stillWorks(_ victim: Victim) throws {
        switch victim.role {
        case .client:
            victim.feed(RawFrame.headers(stream: 1, ends: true, [0x88]))
            #expect(victim.outcomes.map(\.outcome) == [.answered(status: 200, body: 0)])
        case .server:
            victim.feed(RawFrame.headers(stream: 1001, ends: true, RawFrame.request))
            #expect(victim.requests.map(\.path) == ["/"])
        }
    }
}

extension RawFrame {
    /// A header block that the client's request may be answered with.
    static let ok: [UInt8] = [0x88]

    /// A literal with a name and value of any length and bytes, without index and Huffman.
    static func field(bytes name: [UInt8], _ value: [UInt8], indexed: Bool = false) -> [UInt8] {
        [indexed ? 0x40 : 0] + string(name) + string(value)
    }

    /// A string with its length in HPACK's seven-bit integer (RFC 7541 §5.1).
    private static func string(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.count >= 127 else { return [UInt8(bytes.count)] + bytes }
        var rest = bytes.count - 127
        var length: [UInt8] = [127]
        while rest >= 128 {
            length.append(UInt8(rest % 128 + 128))
            rest /= 128
        }
        return length + [UInt8(rest)] + bytes
    }

    static func text(_ count: Int) -> [UInt8] {
        [UInt8](repeating: UInt8(ascii: "x"), count: count)
    }
}

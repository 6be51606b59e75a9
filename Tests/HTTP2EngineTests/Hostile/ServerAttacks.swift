@testable import HTTP2Engine

/// What a hostile client does to a server.
enum ServerAttacks {
    static let all: [Attack] = malformed + connection + unusual

    private static let reset = Attack.Expectation.resets(.protocolError)
    private static let head: [UInt8] = [0x82, 0x87, 0x84]

    private static let malformed = [
        Attack("a request without :method", request([0x87, 0x84] + RawFrame.field(":authority", "a")), reset),
        Attack("a request without :path", request([0x82, 0x87] + RawFrame.field(":authority", "a")), reset),
        Attack("an empty :path", request([0x82, 0x87] + RawFrame.field(":path", "")), reset),
        Attack("two :path", request(RawFrame.request + [0x84]), reset),
        Attack("a :status in a request", request(RawFrame.request + [0x88]), reset),
        Attack(
            "a pseudo-header after a field",
            request(head + RawFrame.field("a", "b") + RawFrame.field(":authority", "a")),
            reset
        ),
        Attack("an unknown pseudo-header", request(RawFrame.request + RawFrame.field(":x", "y")), reset),
        Attack("an upper-case name", request(RawFrame.request + RawFrame.field("Upper", "y")), reset),
        Attack("a line break in a value", request(RawFrame.request + RawFrame.field("a", "b\r\nc: d")), reset),
        Attack("a zero byte in a name", request(RawFrame.request + RawFrame.field("a\0", "b")), reset),
        Attack("a control character in the :path", request([0x82, 0x87] + RawFrame.field(":path", "/\u{1}")), reset),
        Attack("a connection field", request(RawFrame.request + RawFrame.field("transfer-encoding", "chunked")), reset),
        Attack("fewer bytes than announced", request(RawFrame.request + RawFrame.field("content-length", "5")), reset),
        Attack(
            "a header list of 1,001 bytes",
            request(RawFrame.request + RawFrame.field(bytes: [97], RawFrame.text(1000))),
            .resets(.internalError)
        ),
        Attack(
            "an HPACK bomb: one entry of 4,000 bytes, named 8,000 times",
            request(
                RawFrame.request + RawFrame.field(bytes: [97], RawFrame.text(4000), indexed: true)
                    + [UInt8](repeating: 0xbe, count: 8000)
            ),
            .resets(.internalError)
        ),
        Attack(
            "a request that depends on itself",
            RawFrame.frame(type: 1, flags: 0x25, stream: 1, [0, 0, 0, 1, 9] + RawFrame.request),
            .connectionEnds(.protocolError)
        ),
    ]

    private static let connection = [
        Attack(
            "a request for CONTINUATION without end",
            RawFrame.frame(type: 1, flags: 1, stream: 1, RawFrame.request)
                + (0..<200).flatMap { _ in RawFrame.continuation(stream: 1, ends: false, RawFrame.field("a", "b")) },
            .connectionFails(.violation)
        ),
        Attack(
            "PUSH_PROMISE from a client",
            RawFrame.frame(type: 5, flags: 4, stream: 1, [0, 0, 0, 2] + RawFrame.request),
            .connectionEnds(.protocolError)
        ),
        Attack(
            "stream numbers that fall",
            request(RawFrame.request, stream: 5) + request(RawFrame.request, stream: 3),
            .requests(1)
        ),
        Attack(
            "one stream more than allowed",
            (0...UInt32(Victim.maximumStreams)).flatMap { open($0 * 2 + 1) },
            .connectionEnds(.protocolError)
        ),
    ]

    private static let unusual = [
        Attack(
            "10,000 priorities of idle streams",
            (0..<10_000).flatMap { RawFrame.frame(type: 2, stream: UInt32($0) * 2 + 3, [0, 0, 0, 1, 9]) },
            .ignored
        ),
        Attack(
            "GOAWAY from a client, again and again",
            (0..<500).flatMap { _ in RawFrame.goAway(last: 0, code: 0) },
            .closes
        ),
    ]

    private static func request(_ block: [UInt8], stream: UInt32 = 1) -> [UInt8] {
        RawFrame.headers(stream: stream, ends: true, block)
    }

    private static func open(_ stream: UInt32) -> [UInt8] {
        RawFrame.headers(stream: stream, ends: false, RawFrame.request)
    }
}

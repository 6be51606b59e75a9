@testable import HTTP2Engine

/// What a hostile server does to a client whose request waits on stream 1.
enum ClientAttacks {
    static let all: [Attack] = malformed + oversized + connection + unusual

    private static let reset = Attack.Expectation.outcome(.failed(.reset(.protocolError)))
    private static let unusable = Attack.Expectation.outcome(.failed(.unusableResponse))

    /// RFC 9113 §8.1.1: a malformed answer is an error of its stream, never of the connection.
    private static let malformed =
        [
            Attack("no :status", answer(RawFrame.field("a", "b")), reset),
            Attack("two :status", answer(RawFrame.ok + RawFrame.ok), reset),
            Attack("a :status of two digits", answer(RawFrame.field(":status", "20")), reset),
            Attack("a :status of letters", answer(RawFrame.field(":status", "abc")), reset),
            Attack("an empty :status", answer(RawFrame.field(":status", "")), reset),
            Attack("a :status after a field", answer(RawFrame.field("a", "b") + RawFrame.ok), reset),
            Attack("a :path in an answer", answer(RawFrame.ok + RawFrame.field(":path", "/")), reset),
            Attack("an unknown pseudo-header", answer(RawFrame.ok + RawFrame.field(":x", "y")), reset),
            Attack("status 101", answer(RawFrame.field(":status", "101")), reset),
            Attack("an upper-case name", answer(RawFrame.ok + RawFrame.field("Upper", "y")), reset),
            Attack("an empty name", answer(RawFrame.ok + RawFrame.field("", "y")), reset),
            Attack("a connection field", answer(RawFrame.ok + RawFrame.field("connection", "close")), reset),
            Attack(
                "two lengths",
                answer(RawFrame.ok + RawFrame.field("content-length", "0") + RawFrame.field("content-length", "1")),
                reset
            ),
            Attack("a length that is no number", answer(RawFrame.ok + RawFrame.field("content-length", "1x")), reset),
            Attack(
                "a length beyond 64 bits",
                answer(RawFrame.ok + RawFrame.field("content-length", "99999999999999999999")),
                reset
            ),
            Attack("fewer bytes than announced", answer(RawFrame.ok + RawFrame.field("content-length", "5")), reset),
            Attack(
                "more bytes than announced",
                begin(RawFrame.ok + RawFrame.field("content-length", "1")) + RawFrame.data(stream: 1, [1, 2]),
                reset
            ),
            Attack("a body before the head", RawFrame.data(stream: 1, [1]), .connectionEnds(.protocolError)),
            Attack("an interim answer that ends", answer(RawFrame.field(":status", "103")), reset),
            Attack(
                "a body after an interim answer",
                begin(RawFrame.field(":status", "103")) + RawFrame.data(stream: 1, [1]),
                reset
            ),
            Attack("trailers that do not end", begin(RawFrame.ok) + begin(RawFrame.field("a", "b")), reset),
            Attack("a :status in the trailers", begin(RawFrame.ok) + answer(RawFrame.ok), reset),
            Attack(
                "a stream's window above 2^31",
                RawFrame.windowUpdate(stream: 1, 0x7fff_ffff),
                .outcome(.failed(.reset(.flowControlError)))
            ),
        ] + forbiddenBytes

    private static let forbiddenBytes = [0, 10, 13].flatMap { (byte: UInt8) -> [Attack] in
        [
            Attack(
                "byte \(byte) in a value",
                answer(RawFrame.ok + RawFrame.field(bytes: [97], [98, byte, 98])),
                reset
            ),
            Attack("byte \(byte) in a name", answer(RawFrame.ok + RawFrame.field(bytes: [97, byte], [98])), reset),
        ]
    }

    private static let oversized = [
        Attack(
            "a field of 1,001 bytes",
            answer(RawFrame.ok + RawFrame.field(bytes: [97], RawFrame.text(1000))),
            unusable
        ),
        Attack(
            "an HPACK bomb: one entry of 4,000 bytes, named 8,000 times",
            begin(RawFrame.ok + RawFrame.field(bytes: [97], RawFrame.text(4000), indexed: true))
                + answer([UInt8](repeating: 0xbe, count: 8000)),
            unusable
        ),
        Attack(
            "16,000 empty fields",
            answer(
                RawFrame.ok + RawFrame.field(bytes: [97], [], indexed: true) + [UInt8](repeating: 0xbe, count: 16_000)
            ),
            unusable
        ),
        Attack("a body of 1,001 bytes", begin(RawFrame.ok) + RawFrame.data(stream: 1, RawFrame.text(1001)), unusable),
        Attack(
            "trailers without end",
            begin(RawFrame.ok) + answer((0..<200).flatMap { RawFrame.field("t\($0)", "12345678") }),
            unusable
        ),
        Attack(
            "more than the stream's window",
            begin(RawFrame.ok) + (0..<5).flatMap { _ in RawFrame.data(stream: 1, ends: false, RawFrame.text(16_384)) },
            unusable
        ),
    ]

    private static let connection = [
        Attack(
            "HEADERS on an idle stream",
            RawFrame.headers(stream: 99, ends: true, RawFrame.ok),
            .connectionEnds(.protocolError)
        ),
        Attack("a server that enables push", RawFrame.settings([(2, 1)]), .connectionEnds(.protocolError)),
        Attack(
            "PUSH_PROMISE",
            RawFrame.frame(type: 5, flags: 4, stream: 1, [0, 0, 0, 2] + RawFrame.request),
            .connectionEnds(.protocolError)
        ),
        Attack(
            "a GOAWAY that takes back an earlier one",
            RawFrame.goAway(last: 1, code: 0) + RawFrame.goAway(last: 3, code: 0),
            .connectionEnds(.protocolError)
        ),
        Attack(
            "a GOAWAY that names an even stream",
            RawFrame.goAway(last: 2, code: 0),
            .connectionEnds(.protocolError)
        ),
        Attack(
            "200 CONTINUATIONs",
            RawFrame.frame(type: 1, stream: 1, RawFrame.ok)
                + (0..<200).flatMap { _ in RawFrame.continuation(stream: 1, ends: false, RawFrame.field("a", "b")) },
            .connectionFails(.violation)
        ),
    ]

    private static let unusual = [
        Attack("an answer of nothing but a status", answer(RawFrame.ok), .outcome(.answered(status: 200, body: 0))),
        Attack(
            "1,000 interim answers",
            (0..<1000).flatMap { _ in begin(RawFrame.field(":status", "103") + RawFrame.field("a", "b")) }
                + answer(RawFrame.ok),
            .outcome(.answered(status: 200, body: 0))
        ),
        Attack(
            "5,000 empty DATA",
            begin(RawFrame.ok) + (0..<5000).flatMap { _ in RawFrame.data(stream: 1, ends: false, []) }
                + RawFrame.data(stream: 1, [1]),
            .outcome(.answered(status: 200, body: 1))
        ),
        Attack(
            "DATA, HEADERS, RST_STREAM and WINDOW_UPDATE after the end",
            answer(RawFrame.ok) + RawFrame.reset(stream: 1, code: 0) + RawFrame.windowUpdate(stream: 1, 1)
                + RawFrame.data(stream: 1, [1, 2]) + RawFrame.reset(stream: 1, code: 1),
            .outcome(.answered(status: 200, body: 0))
        ),
        Attack(
            "an unknown error code",
            RawFrame.reset(stream: 1, code: 0xdead),
            .outcome(.failed(.reset(HTTP2ErrorCode(rawValue: 0xdead))))
        ),
        Attack(
            "priorities from a server",
            (0..<1000).flatMap { RawFrame.frame(type: 2, stream: UInt32($0) * 2 + 1001, [0, 0, 0, 1, 9]) },
            .ignored
        ),
    ]

    private static func answer(_ block: [UInt8]) -> [UInt8] { RawFrame.headers(stream: 1, ends: true, block) }
    private static func begin(_ block: [UInt8]) -> [UInt8] { RawFrame.headers(stream: 1, ends: false, block) }
}

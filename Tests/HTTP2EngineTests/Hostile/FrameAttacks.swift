@testable import HTTP2Engine

/// Frames that break RFC 9113 in the same way at both ends; the error codes are the RFC's where it names one.
enum FrameAttacks {
    static let all: [Attack] = framing + settings + flowControl + compression + harmless

    private static let framing = [
        Attack("DATA on stream 0", RawFrame.data(stream: 0, [1]), .connectionEnds(.protocolError)),
        Attack("DATA on an idle stream", RawFrame.data(stream: 99, [1]), .connectionEnds(.protocolError)),
        Attack("HEADERS on stream 0", RawFrame.headers(stream: 0, ends: true, [0x88]), .connectionEnds(.protocolError)),
        Attack(
            "HEADERS on an even stream",
            RawFrame.headers(stream: 2, ends: true, [0x88]),
            .connectionEnds(.protocolError)
        ),
        Attack("PING of 7 bytes", RawFrame.frame(type: 6, RawFrame.text(7)), .connectionEnds(.frameSizeError)),
        Attack(
            "PING on a stream",
            RawFrame.frame(type: 6, stream: 1, RawFrame.text(8)),
            .connectionEnds(.protocolError)
        ),
        Attack(
            "RST_STREAM of 3 bytes",
            RawFrame.frame(type: 3, stream: 1, [0, 0, 0]),
            .connectionEnds(.frameSizeError)
        ),
        Attack("RST_STREAM on stream 0", RawFrame.reset(stream: 0, code: 8), .connectionEnds(.protocolError)),
        Attack("RST_STREAM on an idle stream", RawFrame.reset(stream: 99, code: 8), .connectionEnds(.protocolError)),
        Attack(
            "PRIORITY of 4 bytes",
            RawFrame.frame(type: 2, stream: 1, [0, 0, 0, 0]),
            .connectionEnds(.frameSizeError)
        ),
        Attack("PRIORITY on stream 0", RawFrame.frame(type: 2, [0, 0, 0, 0, 0]), .connectionEnds(.protocolError)),
        Attack("GOAWAY of 7 bytes", RawFrame.frame(type: 7, RawFrame.text(7)), .connectionEnds(.frameSizeError)),
        Attack(
            "GOAWAY on a stream",
            RawFrame.frame(type: 7, stream: 1, [UInt8](repeating: 0, count: 8)),
            .connectionEnds(.protocolError)
        ),
        Attack(
            "CONTINUATION out of the blue",
            RawFrame.continuation(stream: 1, ends: true, [0x88]),
            .connectionEnds(.protocolError)
        ),
        Attack(
            "PING between HEADERS and CONTINUATION",
            RawFrame.frame(type: 1, stream: 1, [0x88]) + RawFrame.ping(1),
            .connectionEnds(.protocolError)
        ),
        Attack(
            "CONTINUATION of another stream",
            RawFrame.frame(type: 1, stream: 1, [0x88]) + RawFrame.continuation(stream: 3, ends: true, []),
            .connectionEnds(.protocolError)
        ),
        Attack(
            "a frame of 16,385 bytes",
            RawFrame.frame(type: 0, stream: 1, RawFrame.text(16_385)),
            .connectionEnds(.frameSizeError)
        ),
        Attack("a frame that says 16 MiB", [0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1], .connectionEnds(.frameSizeError)),
        Attack(
            "HEADERS padded beyond their end",
            RawFrame.frame(type: 1, flags: 0xc, stream: 1, [200, 0x88]),
            .connectionEnds(.protocolError)
        ),
        Attack(
            "padded HEADERS of no bytes",
            RawFrame.frame(type: 1, flags: 0xc, stream: 1),
            .connectionEnds(.protocolError)
        ),
        Attack(
            "HEADERS with half a priority",
            RawFrame.frame(type: 1, flags: 0x24, stream: 1, [0, 0]),
            .connectionEnds(.frameSizeError)
        ),
    ]

    private static let settings = [
        Attack("SETTINGS of 5 bytes", RawFrame.frame(type: 4, RawFrame.text(5)), .connectionEnds(.frameSizeError)),
        Attack("SETTINGS on a stream", RawFrame.frame(type: 4, stream: 1), .connectionEnds(.protocolError)),
        Attack(
            "an acknowledgement with content",
            RawFrame.frame(type: 4, flags: 1, RawFrame.text(6)),
            .connectionEnds(.frameSizeError)
        ),
        Attack("an acknowledgement of nothing", RawFrame.settingsAcknowledgement, .connectionEnds(.protocolError)),
        Attack("ENABLE_PUSH of 2", RawFrame.settings([(2, 2)]), .connectionEnds(.protocolError)),
        Attack("a window of 2^31", RawFrame.settings([(4, 1 << 31)]), .connectionEnds(.flowControlError)),
        Attack("frames of 100 bytes", RawFrame.settings([(5, 100)]), .connectionEnds(.protocolError)),
        Attack("frames of 16 MiB", RawFrame.settings([(5, 1 << 24)]), .connectionEnds(.protocolError)),
        Attack(
            "SETTINGS with 1,000 entries",
            RawFrame.settings((0..<1000).map { _ in (4, 65_535) }),
            .connectionEnds(.enhanceYourCalm)
        ),
    ]

    private static let flowControl = [
        Attack("WINDOW_UPDATE of 3 bytes", RawFrame.frame(type: 8, [0, 0, 1]), .connectionEnds(.frameSizeError)),
        Attack("WINDOW_UPDATE of 0", RawFrame.windowUpdate(0), .connectionEnds(.protocolError)),
        Attack(
            "WINDOW_UPDATE on an idle stream",
            RawFrame.windowUpdate(stream: 99, 1),
            .connectionEnds(.protocolError)
        ),
        Attack(
            "a connection's window above 2^31",
            RawFrame.windowUpdate(0x7fff_ffff),
            .connectionEnds(.flowControlError)
        ),
    ]

    private static let compression = [
        Attack("HPACK index 0", block([0x80]), .connectionEnds(.compressionError)),
        Attack("HPACK index beyond the table", block([0xff, 0x40]), .connectionEnds(.compressionError)),
        Attack(
            "an HPACK integer without end",
            block([0xff] + [UInt8](repeating: 0xff, count: 50)),
            .connectionEnds(.compressionError)
        ),
        Attack("an HPACK string that is cut", block([0, 10, 1, 2]), .connectionEnds(.compressionError)),
        Attack(
            "an HPACK string of 2 GiB",
            block([0, 0x7f, 0xff, 0xff, 0xff, 0xff, 7]),
            .connectionEnds(.compressionError)
        ),
        Attack(
            "Huffman's end of string",
            block([0, 0x84, 0xff, 0xff, 0xff, 0xff, 1, 0x61]),
            .connectionEnds(.compressionError)
        ),
        Attack("a dynamic table of 1 MiB", block([0x3f, 0xe1, 0xff, 0x3f]), .connectionEnds(.compressionError)),
        Attack("a table size in the middle of a block", block([0x88, 0x20]), .connectionEnds(.compressionError)),
    ]

    private static let harmless = [
        Attack(
            "frames of unknown types",
            (10...255).flatMap { RawFrame.frame(type: $0, flags: 0xff, stream: 1, [1, 2, 3]) },
            .ignored
        ),
        Attack("unknown settings", RawFrame.settings([(0x99, 7), (0xffff, .max)]), .ignored),
        Attack(
            "answers to pings that nobody sent",
            (0..<1000).flatMap { _ in RawFrame.frame(type: 6, flags: 1, RawFrame.text(8)) },
            .ignored
        ),
        Attack("a header table of 4 GiB", RawFrame.settings([(1, .max)]), .ignored),
        Attack("no room for header lists", RawFrame.settings([(6, 0)]), .ignored),
        Attack(
            "a window that rises and falls",
            (0..<500).flatMap { RawFrame.settings([(4, $0 % 2 == 0 ? 0 : 0x7fff_ffff)]) },
            .ignored
        ),
        Attack("1,000 changes of a window", (0..<1000).flatMap { _ in RawFrame.windowUpdate(1) }, .ignored),
    ]

    private static func block(_ bytes: [UInt8]) -> [UInt8] {
        RawFrame.headers(stream: 1, ends: true, bytes)
    }
}

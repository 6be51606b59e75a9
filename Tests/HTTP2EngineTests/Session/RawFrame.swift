@testable import HTTP2Engine

/// Frames written by hand (RFC 9113 §4.1), for peers that our own sessions would never be.
enum RawFrame {
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    static func frame(type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        let length = payload.count
        let head = [
            UInt8(length >> 16), UInt8(length >> 8 & 0xff), UInt8(length & 0xff), type, flags,
            UInt8(stream >> 24), UInt8(stream >> 16 & 0xff), UInt8(stream >> 8 & 0xff), UInt8(stream & 0xff),
        ]
        return head + payload
    }

    static func settings(_ pairs: [(UInt16, UInt32)] = []) -> [UInt8] {
        frame(type: 4, pairs.flatMap { bytes($0.0) + bytes($0.1) })
    }

    static func ping(_ number: UInt8) -> [UInt8] {
        frame(type: 6, [UInt8](repeating: number, count: 8))
    }

    static func data(stream: UInt32, ends: Bool = true, _ payload: [UInt8]) -> [UInt8] {
        frame(type: 0, flags: ends ? 1 : 0, stream: stream, payload)
    }

    static func headers(stream: UInt32, ends: Bool, _ block: [UInt8]) -> [UInt8] {
        frame(type: 1, flags: (ends ? 1 : 0) | 4, stream: stream, block)
    }

    static func reset(stream: UInt32, code: UInt32) -> [UInt8] {
        frame(type: 3, stream: stream, bytes(code))
    }

    static func goAway(last: UInt32, code: UInt32) -> [UInt8] {
        frame(type: 7, bytes(last) + bytes(code))
    }

    /// HPACK without index and without Huffman (RFC 7541 §6.2.2).
    static func field(_ name: String, _ value: String) -> [UInt8] {
        [0, UInt8(name.utf8.count)] + name.utf8 + [UInt8(value.utf8.count)] + value.utf8
    }

    /// `GET https://a/`.
    static var request: [UInt8] { [0x82, 0x87, 0x84] + field(":authority", "a") }

    static func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        stride(from: Number.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    static func windowUpdate(stream: UInt32 = 0, _ increment: UInt32) -> [UInt8] {
        frame(type: 8, stream: stream, bytes(increment))
    }

    static func continuation(stream: UInt32, ends: Bool, _ block: [UInt8]) -> [UInt8] {
        frame(type: 9, flags: ends ? 4 : 0, stream: stream, block)
    }

    static let settingsAcknowledgement = frame(type: 4, flags: 1)

    /// A frame as it was found in a stream of bytes.
    struct Read: Equatable {
        let type: UInt8
        let stream: UInt32
        let payload: [UInt8]

        /// What an RST_STREAM or a GOAWAY says.
        var errorCode: HTTP2ErrorCode? {
            guard type == 3 || type == 7 else { return nil }
            let bytes = payload.dropFirst(type == 7 ? 4 : 0).prefix(4)
            return HTTP2ErrorCode(rawValue: bytes.reduce(0) { $0 << 8 | UInt32($1) })
        }
    }

    /// Cuts what a session said into frames; a client's preface is skipped.
    static func read(_ bytes: [UInt8]) -> [Read] {
        split(bytes.starts(with: preface) ? Array(bytes.dropFirst(preface.count)) : bytes).map { frame in
            let stream = frame[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            return Read(type: frame[3], stream: stream, payload: Array(frame.dropFirst(9)))
        }
    }

    /// Whole frames, one after another.
    static func split(_ bytes: [UInt8]) -> [[UInt8]] {
        var frames: [[UInt8]] = []
        var index = 0
        while index + 9 <= bytes.count {
            let end = index + 9 + bytes[index..<index + 3].reduce(0) { $0 << 8 | Int($1) }
            guard end <= bytes.count else { break }
            frames.append(Array(bytes[index..<end]))
            index = end
        }
        return frames
    }
}

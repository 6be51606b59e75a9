/// The nine bytes in front of every frame (RFC 9113 §4.1).
struct FrameHead {
    static let size = 9
    /// The largest payload that a peer may send, because the session never announces another limit.
    static let maximumPayload = 16_384

    let length: Int
    let type: FrameType
    let flags: FrameFlags
    /// Without the reserved bit.
    let stream: Int32

    init(type: FrameType, flags: FrameFlags = [], stream: Int32, length: Int) {
        self.type = type
        self.flags = flags
        self.stream = stream
        self.length = length
    }

    /// Reads the first nine of `bytes`, which must have that many.
    init(_ bytes: UnsafeRawBufferPointer) {
        let word = unsafe UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
        length = Int(word >> 40)
        type = FrameType(rawValue: UInt8(truncatingIfNeeded: word >> 32))
        flags = FrameFlags(rawValue: UInt8(truncatingIfNeeded: word >> 24))
        stream = unsafe Int32(truncatingIfNeeded: (word & 0x7f_ffff) << 8 | UInt64(bytes[8]))
    }

    /// The first eight bytes; the last byte of the stream's number follows them.
    var word: UInt64 {
        UInt64(length) << 40 | UInt64(type.rawValue) << 32 | UInt64(flags.rawValue) << 24
            | UInt64(UInt32(bitPattern: stream) >> 8)
    }
}

/// The types of frames (RFC 9113 §6). Unknown ones are ignored.
struct FrameType: Equatable {
    let rawValue: UInt8

    static let data = FrameType(rawValue: 0)
    static let headers = FrameType(rawValue: 1)
    static let priority = FrameType(rawValue: 2)
    static let reset = FrameType(rawValue: 3)
    static let settings = FrameType(rawValue: 4)
    static let pushPromise = FrameType(rawValue: 5)
    static let ping = FrameType(rawValue: 6)
    static let goAway = FrameType(rawValue: 7)
    static let windowUpdate = FrameType(rawValue: 8)
    static let continuation = FrameType(rawValue: 9)
}

/// The flags of frames. The same bit means different things in different types.
struct FrameFlags: OptionSet {
    let rawValue: UInt8

    static let endStream = FrameFlags(rawValue: 0x1)
    static let acknowledgement = FrameFlags(rawValue: 0x1)
    static let endHeaders = FrameFlags(rawValue: 0x4)
    static let padded = FrameFlags(rawValue: 0x8)
    static let priority = FrameFlags(rawValue: 0x20)
}

/// Cuts the bytes of a peer into whole frames, however they arrive.
///
/// It keeps at most one incomplete frame, whose length was checked when its head arrived.
struct FrameReader: ~Copyable {
    private var kept: [UInt8] = []

    /// The bytes of the frame that is incomplete so far.
    var count: Int { kept.count }

    /// The head of the frame that is incomplete, once it has arrived.
    var head: FrameHead? { unsafe kept.withUnsafeBytes { unsafe Self.head(of: $0) } }

    /// The head of the frame at the front of `bytes`; `nil` if it is incomplete.
    static func head(of bytes: UnsafeRawBufferPointer) -> FrameHead? {
        bytes.count < FrameHead.size ? nil : unsafe FrameHead(bytes)
    }

    /// Removes the frame with this head from the front of `rest`, and returns its payload; `nil` if it is incomplete.
    static func payload(of head: FrameHead, from rest: inout UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        let size = FrameHead.size + head.length
        guard rest.count >= size else { return nil }
        defer { unsafe rest = UnsafeRawBufferPointer(rebasing: rest[size...]) }
        return unsafe UnsafeRawBufferPointer(rebasing: rest[FrameHead.size..<size])
    }

    /// Keeps the beginning of a frame until the rest arrives.
    mutating func keep(_ bytes: UnsafeRawBufferPointer) {
        if bytes.count > 0 { unsafe kept.append(contentsOf: bytes) }
    }

    /// Moves bytes from the front of `rest` until so many are kept.
    mutating func fill(to size: Int, from rest: inout UnsafeRawBufferPointer) {
        let count = min(max(0, size - kept.count), rest.count)
        unsafe kept.append(contentsOf: rest.prefix(count))
        unsafe rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    }

    /// The kept frame, if it is whole. Then nothing is kept any more.
    mutating func takeFrame(_ head: FrameHead) -> [UInt8]? {
        guard kept.count == FrameHead.size + head.length else { return nil }
        defer { kept = [] }
        return kept
    }
}

/// Bytes for the peer in one reusable block of memory.
@safe
struct OutputBuffer: ~Copyable {
    private var base: UnsafeMutableRawPointer
    private var capacity: Int
    private(set) var count = 0

    init(capacity: Int) {
        self.capacity = capacity
        unsafe base = .allocate(byteCount: capacity, alignment: 16)
    }

    deinit {
        unsafe base.deallocate()
    }

    /// Valid until the next change.
    var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: count) }

    mutating func removeAll() {
        count = 0
    }

    /// Makes room for so many more bytes. The methods below make their own, so this only saves them the work.
    @inline(__always)
    mutating func reserve(_ more: Int) {
        if count + more > capacity { grow(more) }
    }

    @inline(__always)
    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        unsafe (base + count).copyMemory(from: source, byteCount: bytes.count)
        count += bytes.count
    }

    @inline(__always)
    mutating func append(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBufferPointer { unsafe append($0) }
    }

    @inline(__always)
    mutating func append(_ other: borrowing OutputBuffer) {
        unsafe append(UnsafeBufferPointer(start: other.base.assumingMemoryBound(to: UInt8.self), count: other.count))
    }

    @inline(__always)
    mutating func append(byte: UInt8) {
        reserve(1)
        unsafe base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count += 1
    }

    @inline(__always)
    mutating func append(number: some FixedWidthInteger) {
        let size = number.bitWidth / 8
        reserve(size)
        unsafe (base + count).storeBytes(of: number.bigEndian, as: type(of: number))
        count += size
    }

    @inline(__always)
    mutating func append(_ head: FrameHead) {
        append(number: head.word)
        append(byte: UInt8(truncatingIfNeeded: head.stream))
    }

    /// An integer with a prefix of `bits` bits (RFC 7541 §5.1). `pattern` holds the bits in front of the prefix.
    @inline(__always)
    mutating func append(prefixed number: Int, bits: Int, pattern: UInt8) {
        let limit = (1 << bits) - 1
        guard number >= limit else { return append(byte: pattern | UInt8(number)) }
        append(byte: pattern | UInt8(limit))
        var rest = number - limit
        while rest >= 128 {
            append(byte: UInt8(rest & 127 | 128))
            rest >>= 7
        }
        append(byte: UInt8(rest))
    }

    /// Writes a frame's head over an earlier one.
    @inline(__always)
    mutating func replace(_ head: FrameHead, at start: Int) {
        unsafe (base + start).storeBytes(of: head.word.bigEndian, as: UInt64.self)
        unsafe base.storeBytes(of: UInt8(truncatingIfNeeded: head.stream), toByteOffset: start + 8, as: UInt8.self)
    }

    /// Lends room for up to `limit` bytes to `body`, which says how many it has filled, and something else.
    @inline(__always)
    mutating func append<Other>(
        upTo limit: Int,
        _ body: (UnsafeMutableBufferPointer<UInt8>) -> (count: Int, Other)
    ) -> (count: Int, Other) {
        reserve(limit)
        let room = unsafe UnsafeMutableRawBufferPointer(start: base + count, count: limit)
        let result = unsafe body(room.assumingMemoryBound(to: UInt8.self))
        count += result.count
        return result
    }

    /// Removes the bytes from an offset on, and returns them.
    mutating func removeBytes(from start: Int) -> [UInt8] {
        let removed = unsafe Array(bytes[start...])
        count = start
        return removed
    }

    private mutating func grow(_ more: Int) {
        capacity = max(2 * capacity, count + more)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
        unsafe larger.copyMemory(from: base, byteCount: count)
        unsafe base.deallocate()
        unsafe base = larger
    }
}

/// Small frames.
extension OutputBuffer {
    mutating func appendWindowUpdate(stream: Int32, _ increment: Int) {
        append(FrameHead(type: .windowUpdate, stream: stream, length: 4))
        append(number: UInt32(increment))
    }

    mutating func appendPing(_ number: UInt64, _ flags: FrameFlags) {
        append(FrameHead(type: .ping, flags: flags, stream: 0, length: 8))
        append(number: number)
    }

    mutating func appendGoAway(_ code: HTTP2ErrorCode) {
        append(FrameHead(type: .goAway, stream: 0, length: 8))
        // The server opens no streams, so none was processed.
        append(number: UInt32(0))
        append(number: code.rawValue)
    }

    mutating func appendReset(stream: Int32, _ code: HTTP2ErrorCode) {
        append(FrameHead(type: .reset, stream: stream, length: 4))
        append(number: code.rawValue)
    }
}

/// A first-in, first-out queue of bytes in one reusable block of memory.
@safe
struct ByteQueue: ~Copyable {
    private var base: UnsafeMutableRawPointer
    private var capacity: Int
    private var head = 0
    private var tail = 0

    init(capacity: Int = 4096) {
        self.capacity = capacity
        unsafe base = .allocate(byteCount: capacity, alignment: 16)
    }

    deinit {
        unsafe base.deallocate()
    }

    var count: Int { tail - head }

    /// The queued bytes; valid until the next change.
    var readable: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: base + head, count: count)
    }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        unsafe (base + tail).copyMemory(from: source, byteCount: bytes.count)
        tail += bytes.count
    }

    /// Copies up to `target.count` bytes out and removes them.
    mutating func move(into target: UnsafeMutableRawBufferPointer) -> Int {
        let moved = min(count, target.count)
        guard moved > 0, let destination = target.baseAddress else { return 0 }
        unsafe destination.copyMemory(from: base + head, byteCount: moved)
        consume(moved)
        return moved
    }

    /// Removes the first `bytes` bytes.
    mutating func consume(_ bytes: Int) {
        precondition(bytes >= 0 && bytes <= count, "consuming more than there is")
        head += bytes
        if head == tail {
            head = 0
            tail = 0
        }
    }

    private mutating func reserve(_ more: Int) {
        guard tail + more > capacity else { return }
        let kept = count
        if kept + more <= capacity, head >= capacity / 2 {
            // Half of the memory is free at the front, so moving costs less than growing.
            unsafe base.copyMemory(from: base + head, byteCount: kept)
        } else {
            capacity = max(capacity * 2, kept + more)
            let grown = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
            unsafe grown.copyMemory(from: base + head, byteCount: kept)
            unsafe base.deallocate()
            unsafe base = grown
        }
        head = 0
        tail = kept
    }
}

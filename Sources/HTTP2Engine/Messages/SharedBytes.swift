/// Immutable bytes at a fixed address, shared by many requests. An example is one body for a million pushes.
@safe
package final class SharedBytes: Sendable {
    // Never written after init, so any thread may read.
    private nonisolated(unsafe) let storage: UnsafeMutableBufferPointer<UInt8>

    package init(_ bytes: some Collection<UInt8>) {
        unsafe storage = .allocate(capacity: bytes.count)
        _ = unsafe storage.initialize(fromContentsOf: bytes)
    }

    deinit {
        unsafe storage.deallocate()
    }

    package var count: Int { unsafe storage.count }

    /// Copies bytes from an offset on, as many as exist and fit. Returns how many.
    func copy(from offset: Int, into target: UnsafeMutableBufferPointer<UInt8>) -> Int {
        let count = unsafe min(target.count, storage.count - offset)
        guard count > 0, let source = unsafe storage.baseAddress, let destination = target.baseAddress else { return 0 }
        unsafe destination.update(from: source + offset, count: count)
        return count
    }

    /// Valid as long as this object lives.
    var buffer: UnsafeBufferPointer<UInt8> { unsafe UnsafeBufferPointer(storage) }
}

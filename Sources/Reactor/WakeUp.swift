import CLinux
import Glibc

/// An eventfd by which other threads wake a sleeping loop.
struct WakeUp: ~Copyable, Sendable {
    let descriptor: Int32

    init() throws(ReactorError) {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard descriptor >= 0 else { throw ReactorError(operation: "eventfd", errno: errno) }
    }

    deinit {
        close(descriptor)
    }

    /// Makes the descriptor readable. Any thread may call it. Its only possible failure is harmless: a full counter is
    /// readable too.
    func signal() {
        var one: UInt64 = 1
        _ = unsafe write(descriptor, &one, 8)
    }

    /// Clears all signals so far.
    func clear() {
        var count: UInt64 = 0
        _ = unsafe read(descriptor, &count, 8)
    }
}

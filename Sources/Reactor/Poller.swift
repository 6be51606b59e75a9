import CLinux
import Glibc

/// An epoll instance: level-triggered, keyed by registration number instead of descriptor.
///
/// A number is never reused. So an event that was fetched before its registration was cancelled matches nothing. This
/// is true even if the descriptor was closed and reused in between.
@safe
struct Poller: ~Copyable {
    private static let capacity = 256

    private let descriptor: Int32
    private let events: UnsafeMutablePointer<epoll_event>

    init() throws(ReactorError) {
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { throw ReactorError(operation: "epoll_create1", errno: errno) }
        unsafe events = .allocate(capacity: Self.capacity)
        unsafe events.initialize(repeating: epoll_event(), count: Self.capacity)
    }

    deinit {
        unsafe events.deallocate()
        close(descriptor)
    }

    /// Starts watching. Do not add an empty interest, because epoll reports errors even then.
    func add(_ fd: Int32, _ interest: Interest, number: UInt64) throws(ReactorError) {
        try control(EPOLL_CTL_ADD, fd, interest, number)
    }

    /// Changes the interest.
    func modify(_ fd: Int32, _ interest: Interest, number: UInt64) throws(ReactorError) {
        try control(EPOLL_CTL_MOD, fd, interest, number)
    }

    /// Stops watching. If the owner has already closed the descriptor, the kernel has removed it; that is fine.
    func remove(_ fd: Int32) {
        _ = CLinux_epoll_control(descriptor, EPOLL_CTL_DEL, fd, 0, 0)
    }

    /// Waits up to `milliseconds` (-1: no limit) and delivers the ready registrations.
    func wait(milliseconds: Int32, _ body: (_ number: UInt64, _ ready: Interest) -> Void) throws(ReactorError) {
        let count = unsafe epoll_wait(descriptor, events, Int32(Self.capacity), milliseconds)
        guard count >= 0 else {
            if errno == EINTR { return }
            throw ReactorError(operation: "epoll_wait", errno: errno)
        }
        for index in 0..<Int(count) {
            let flags = unsafe events[index].events
            var ready: Interest = []
            if flags & (EPOLLIN.rawValue | EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { ready.insert(.read) }
            if flags & (EPOLLOUT.rawValue | EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { ready.insert(.write) }
            body(unsafe CLinux_epoll_number(events + index), ready)
        }
    }

    private func control(
        _ operation: Int32,
        _ fd: Int32,
        _ interest: Interest,
        _ number: UInt64
    ) throws(ReactorError) {
        var flags: UInt32 = 0
        if interest.contains(.read) { flags |= EPOLLIN.rawValue }
        if interest.contains(.write) { flags |= EPOLLOUT.rawValue }
        guard CLinux_epoll_control(descriptor, operation, fd, flags, number) == 0 else {
            throw ReactorError(operation: "epoll_ctl", errno: errno)
        }
    }
}

/// A descriptor that a loop watches. Belongs to the loop: only to be touched there.
package final class Registration {
    /// The descriptor. The registration does not own it; cancel first, close afterwards.
    package let fd: Int32
    /// What it is watched for at present.
    package fileprivate(set) var interest: Interest
    let number: UInt64
    fileprivate(set) var handler: (Interest) -> Void

    init(fd: Int32, interest: Interest, number: UInt64, handler: @escaping (Interest) -> Void) {
        self.fd = fd
        self.interest = interest
        self.number = number
        self.handler = handler
    }
}

extension EventLoop {
    /// Calls `handler` on the loop whenever `fd` is ready for something in `interest`, until cancelled. Only on the
    /// loop.
    ///
    /// Level-triggered: a handler that leaves bytes unread is called again in the next pass, so it may stop early to be
    /// fair to others, and must take write interest away when it has nothing to write. Errors and hang-ups count as
    /// readiness. With an empty interest nothing at all is reported.
    ///
    /// - Throws: ``ReactorError/Code/system``, with `EEXIST` when the descriptor is watched already.
    package func register(
        fd: Int32,
        interest: Interest,
        handler: @escaping (Interest) -> Void
    ) throws(ReactorError) -> Registration {
        preconditionOnLoop()
        let number = lastRegistration + 1
        if !interest.isEmpty { try poller.add(fd, interest, number: number) }
        lastRegistration = number
        let registration = Registration(fd: fd, interest: interest, number: number, handler: handler)
        registrations[number] = registration
        return registration
    }

    /// Watches for something else from now on; what was reported before may still be delivered in the present pass.
    ///
    /// - Throws: ``ReactorError/Code/system`` when the descriptor has been closed.
    package func update(_ registration: Registration, interest: Interest) throws(ReactorError) {
        preconditionOnLoop()
        guard registration.interest != interest, registrations[registration.number] != nil else { return }
        switch (registration.interest.isEmpty, interest.isEmpty) {
        case (true, _): try poller.add(registration.fd, interest, number: registration.number)
        case (false, true): poller.remove(registration.fd)
        case (false, false): try poller.modify(registration.fd, interest, number: registration.number)
        }
        registration.interest = interest
    }

    /// Stops watching; the handler is not called again and is let go. A second call does nothing. Only on the loop.
    package func cancel(_ registration: Registration) {
        preconditionOnLoop()
        guard registrations.removeValue(forKey: registration.number) != nil else { return }
        if !registration.interest.isEmpty { poller.remove(registration.fd) }
        registration.handler = { _ in }
    }
}

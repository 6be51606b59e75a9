/// A descriptor that a loop watches. Use it only on that loop.
package final class Registration {
    /// The descriptor. The registration does not own it: cancel first, then close.
    package let fd: Int32
    /// The current interest.
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
    /// Calls `handler` on the loop whenever `fd` is ready for something in `interest`, until cancelled. Call it only on
    /// the loop.
    ///
    /// It is level-triggered. If a handler leaves bytes unread, the next pass calls it again, so it may stop early to
    /// be fair to others. It must remove write interest when it has nothing to write. Errors and hang-ups count as
    /// readiness. An empty interest reports no event, not even an error.
    ///
    /// - Throws: ``ReactorError/Code/system``, with `EEXIST` if the descriptor is already watched.
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

    /// Changes the interest. The current pass may still deliver events for the old one.
    ///
    /// - Throws: ``ReactorError/Code/system`` if the descriptor has been closed.
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

    /// Stops watching and releases the handler, which is never called again. Another call does nothing. Only on the
    /// loop.
    package func cancel(_ registration: Registration) {
        preconditionOnLoop()
        guard registrations.removeValue(forKey: registration.number) != nil else { return }
        if !registration.interest.isEmpty { poller.remove(registration.fd) }
        registration.handler = { _ in }
    }
}

import Glibc

/// One attempt to reach a host: it looks the name up, then tries the addresses one after the other. It belongs to a
/// loop.
package final class Connector {
    package typealias Completion = (Result<Socket, ReactorError>) -> Void

    private let loop: EventLoop
    private let deadline: ContinuousClock.Instant
    private let host: String
    private var addresses: ArraySlice<SocketAddress> = []
    private var completion: Completion?
    private var registration: Registration?
    private var socket: Socket?
    private var overallTimer: TimerID?
    private var attemptTimer: TimerID?
    private var lastError: ReactorError?
    /// The timeout of one address, after which the next one is tried.
    private static let longestAttempt: Duration = .seconds(2)

    /// Starts at once. `completion` is called exactly once, on the loop and in a later pass, unless the attempt is
    /// cancelled before.
    ///
    /// Every attempt repeats the lookup, so that connections spread over all addresses of a service. An address that
    /// does not answer uses at most its share of the remaining time, and at most two seconds. Call it only on the loop.
    ///
    /// - `lookUp`: the resolver; tests pass another one.
    /// - `timeout`: for everything together, including the lookup.
    /// - `completion`: receives a connected socket with TCP_NODELAY and keepalive, or the error of the last address.
    package init(
        loop: EventLoop,
        host: String,
        port: UInt16,
        timeout: Duration,
        lookUp: AddressResolver.LookUp = AddressResolver.resolve,
        completion: @escaping Completion
    ) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.host = host
        self.completion = completion
        deadline = .now + timeout
        overallTimer = loop.schedule(after: timeout) { [weak self] in self?.timedOut() }
        // The answer may arrive after the deadline, when this object may no longer exist.
        let bound = LoopBound<WeakConnector>(WeakConnector(connector: self), to: loop)
        lookUp(host, port, loop) { result in
            bound.value.connector?.resolved(result)
        }
    }

    /// Cancels the attempt; `completion` is not called.
    package func cancel() {
        loop.preconditionOnLoop()
        completion = nil
        cleanUp()
    }

    private func resolved(_ result: Result<[SocketAddress], ReactorError>) {
        guard completion != nil else { return }
        switch result {
        case .failure(let error): finish(.failure(error))
        case .success(let found):
            addresses = found[...]
            tryNext()
        }
    }

    private func tryNext() {
        stopAttempt()
        while let address = addresses.popFirst() {
            do throws(ReactorError) {
                if try begin(address) { return }
            } catch {
                lastError = error
            }
        }
        finish(.failure(lastError ?? ReactorError(.unresolvable, operation: "connect", detail: host)))
    }

    /// True if the attempt is in progress or has succeeded.
    private func begin(_ address: SocketAddress) throws(ReactorError) -> Bool {
        let socket = try Socket.make(family: address.family ?? AF_INET)
        socket.setNoDelay()
        socket.setKeepAlive()
        self.socket = socket
        let result = unsafe address.withSockaddr { unsafe connect(socket.fd, $0, $1) }
        // After EINTR or EINPROGRESS the kernel continues on its own. A socket that connects at once becomes writable
        // in the next pass.
        guard result == 0 || errno == EINPROGRESS || errno == EINTR else {
            throw ReactorError(operation: "connect", errno: errno, detail: address.description)
        }
        registration = try loop.register(fd: socket.fd, interest: .write) { [weak self] _ in
            self?.attemptEnded(address)
        }
        if !addresses.isEmpty {
            let share = ContinuousClock.now.duration(to: deadline) / (addresses.count + 1)
            attemptTimer = loop.schedule(after: min(share, Self.longestAttempt)) { [weak self] in
                self?.lastError = ReactorError(.timedOut, operation: "connect", detail: address.description)
                self?.tryNext()
            }
        }
        return true
    }

    private func attemptEnded(_ address: SocketAddress) {
        guard let socket else { return }
        let number = socket.pendingError()
        guard number == 0 else {
            lastError = ReactorError(operation: "connect", errno: number, detail: address.description)
            return tryNext()
        }
        self.socket = nil
        finish(.success(socket))
    }

    private func timedOut() {
        finish(.failure(ReactorError(.timedOut, operation: "connect", detail: host)))
    }

    private func finish(_ result: Result<Socket, ReactorError>) {
        cleanUp()
        guard let completion else { return }
        self.completion = nil
        completion(result)
    }

    private func cleanUp() {
        stopAttempt()
        if let overallTimer { loop.cancel(overallTimer) }
        overallTimer = nil
    }

    private func stopAttempt() {
        if let registration { loop.cancel(registration) }
        registration = nil
        if let attemptTimer { loop.cancel(attemptTimer) }
        attemptTimer = nil
        socket?.close()
        socket = nil
    }
}

private final class WeakConnector {
    private(set) weak var connector: Connector?

    init(connector: Connector) {
        self.connector = connector
    }
}

import Dispatch
import Reactor
import Synchronization

/// One connection to a server, for one operation at a time. The pool of `Database` reuses it.
///
/// It is in pipeline mode whenever it is idle. Any failure except an SQL error closes it; the pool then creates a new
/// one. If an operation fails by its deadline or by cancellation, the server is also asked to cancel it.
package final class Session: @unchecked Sendable {
    // Unchecked, but correct: only the operation with the `claim` uses the mutable state. The claim is an atomic, and a
    // second operation cannot acquire it.
    private let claim = Atomic<Bool>(false)
    private let loop: EventLoop
    private var handle: ConnectionHandle?
    private let cancel: CancelHandle?
    private var failure: String?
    var cache: StatementCache

    /// The id of the server process.
    package let processID: Int32
    /// For example 150020 for version 15.20.
    package let serverVersion: Int

    /// Takes over a new connection.
    init(_ connection: ConnectionHandle, loop: EventLoop, cacheCapacity: Int) throws(LibPQError) {
        guard connection.setNonBlocking(), connection.enterPipeline() else {
            throw LibPQError(.unreachable, message: connection.errorMessage)
        }
        handle = connection
        cancel = connection.makeCancel()
        processID = connection.processID
        serverVersion = connection.serverVersion
        cache = StatementCache(capacity: cacheCapacity)
        self.loop = loop
    }

    // MARK: State between operations

    /// Whether it is usable, as far as known without asking the server.
    package var isOpen: Bool { claimed { $0 != nil } ?? true }

    /// Checks the socket: false if the server has closed the connection. It costs two system calls and never waits.
    package func isAlive() -> Bool {
        claimed { handle in
            guard let connection = handle else { return false }
            // The first call may read the server's last message. Then only the second one sees the end.
            if connection.consumeInput(), connection.consumeInput(), !connection.isBad { return true }
            handle = nil
            return false
        } ?? true
    }

    /// Whether a transaction is open.
    package var transactionStatus: TransactionStatus {
        claimed { $0?.transactionStatus ?? .unknown } ?? .active
    }

    /// The SQLSTATE of the last operation that the server refused since the last call.
    package func takeFailure() -> String? {
        var last: String?
        _ = claimed { _ in (last, failure) = (failure, nil) }
        return last
    }

    /// Closes the connection in an orderly way. A second call does nothing. The session must not be in use.
    package func close() {
        _ = claimed { $0 = nil }
    }

    // MARK: Operations

    /// Runs one operation with the claim. If the session is unusable afterwards, it is closed.
    func operate<R>(
        _ body: (ConnectionHandle) async throws(LibPQError) -> R
    ) async throws(LibPQError) -> R {
        guard claim.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged else {
            throw LibPQError(.busy, message: "two operations at once on one connection")
        }
        defer { claim.store(false, ordering: .releasing) }
        guard let connection = handle else { throw LibPQError(.closed) }
        // Nothing has been sent, so a task that is already cancelled does not affect the connection.
        if Task.isCancelled { throw LibPQError(.cancelled) }
        do {
            return try await body(connection)
        } catch {
            if error.code == .server { failure = error.diagnostics?.sqlState } else { abandon(connection, error.code) }
            throw error
        }
    }

    /// Runs a dance to its end. The first step runs here, all others on the loop. So this task wakes only once, and
    /// data is read even if all task threads are busy.
    func lead(
        _ dance: inout some Dance,
        _ connection: ConnectionHandle,
        until deadline: ContinuousClock.Instant?
    ) async throws(LibPQError) {
        var step = dance.advance(connection)
        if case .wait(let interest) = step {
            let rest = DanceOnLoop(dance, connection)
            try await wait(connection, interest, until: deadline) { rest.advance() }
            dance = rest.dance
            step = rest.step
        }
        if case .broken(let error) = step { throw error }
    }

    /// Waits for the socket. For `goOn` see `EventLoop`.
    func wait(
        _ connection: ConnectionHandle,
        _ interest: Interest,
        until deadline: ContinuousClock.Instant?,
        goOn: @escaping @Sendable () -> Interest? = { nil }
    ) async throws(LibPQError) {
        try await Self.wait(connection, interest, on: loop, until: deadline, goOn: goOn)
    }

    static func wait(
        _ connection: ConnectionHandle,
        _ interest: Interest,
        on loop: EventLoop,
        until deadline: ContinuousClock.Instant?,
        goOn: @escaping @Sendable () -> Interest? = { nil }
    ) async throws(LibPQError) {
        do {
            _ = try await loop.readiness(of: connection.socket, interest, deadline: deadline, goOn: goOn)
        } catch {
            switch error.code {
            case .timedOut: throw LibPQError(.timedOut)
            case .cancelled: throw LibPQError(.cancelled)
            default: throw LibPQError(.connectionLost, message: error.description)
            }
        }
    }

    private func claimed<R>(_ body: (inout ConnectionHandle?) -> R) -> R? {
        guard claim.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged else { return nil }
        defer { claim.store(false, ordering: .releasing) }
        return body(&handle)
    }

    private func abandon(_ connection: ConnectionHandle, _ code: LibPQError.Code) {
        handle = nil
        // The server notices a closed socket only at its next write. Until then a long statement would continue and
        // hold its locks.
        guard code == .timedOut || code == .cancelled, connection.transactionStatus == .active, let cancel else {
            return
        }
        CancelRequests.send(cancel)
    }
}

/// Sends cancel requests on threads that may block.
private enum CancelRequests {
    private static let queue = DispatchQueue(label: "postgres.cancel", attributes: .concurrent)
    private static let underWay = Atomic<Int>(0)
    /// An unresponsive host blocks a thread for minutes. Above this number no request is sent, and the server must
    /// notice the closed socket.
    private static let maximum = 4

    static func send(_ cancel: CancelHandle) {
        guard underWay.add(1, ordering: .relaxed).newValue <= maximum else {
            underWay.subtract(1, ordering: .relaxed)
            return
        }
        queue.async {
            cancel.send()
            underWay.subtract(1, ordering: .relaxed)
        }
    }
}

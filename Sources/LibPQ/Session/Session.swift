import Dispatch
import Reactor
import Synchronization

/// One connection to a server, for one operation at a time.
///
/// In pipeline mode whenever it is idle. Whatever goes wrong below the level of SQL closes it; a new one takes its
/// place. An operation that fails by its deadline or by cancellation has the server asked to stop as well.
package final class Session: @unchecked Sendable {
    // Sendable without a check by the compiler: the mutable state is touched only by the operation that holds `claim`,
    // and the claim is an atomic that a second operation fails to take.
    private let claim = Atomic<Bool>(false)
    private let loop: EventLoop
    private var handle: ConnectionHandle?
    private let cancel: CancelHandle?
    var cache: StatementCache

    /// The number of the server's process.
    package let processID: Int32
    /// As in 150020 for 15.20.
    package let serverVersion: Int

    /// Takes over a connection that has just been made.
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

    // MARK: State, for the holder of the connection between operations

    /// Whether it can be used; known without asking the server.
    package var isOpen: Bool { claimed { $0 != nil } ?? true }

    /// Looks at the socket: false when the server has closed the connection. Costs two system calls, waits for nothing.
    package func isAlive() -> Bool {
        claimed { handle in
            guard let connection = handle else { return false }
            // The first one may find the server's last words, and only the second one the end after them.
            if connection.consumeInput(), connection.consumeInput(), !connection.isBad { return true }
            handle = nil
            return false
        } ?? true
    }

    /// Whether a transaction is open.
    package var transactionStatus: TransactionStatus {
        claimed { $0?.transactionStatus ?? .unknown } ?? .active
    }

    /// Closes the connection, politely. Does nothing the second time; the session must not be in use.
    package func close() {
        _ = claimed { $0 = nil }
    }

    // MARK: Operations

    /// Runs one operation under the claim. A session that is not fit afterwards is closed.
    func operate<R>(
        _ body: (ConnectionHandle) async throws(LibPQError) -> R
    ) async throws(LibPQError) -> R {
        guard claim.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged else {
            throw LibPQError(.busy, message: "two operations at once on one connection")
        }
        defer { claim.store(false, ordering: .releasing) }
        guard let connection = handle else { throw LibPQError(.closed) }
        // Nothing has been sent: a task that is cancelled by now leaves the connection as it is.
        if Task.isCancelled { throw LibPQError(.cancelled) }
        do {
            return try await body(connection)
        } catch {
            if error.code != .server { abandon(connection, error.code) }
            throw error
        }
    }

    /// Leads a dance to its end: its first step here, all others on the loop, so that this task goes on when everything
    /// has arrived, and what arrives is read even while all threads that run tasks are busy.
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

    /// Waits for the socket. `goOn`: as in `EventLoop`.
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
        // The server only notices a closed socket when it next writes; a long statement, and its locks, would go on.
        guard code == .timedOut || code == .cancelled, connection.transactionStatus == .active, let cancel else {
            return
        }
        CancelRequests.send(cancel)
    }
}

/// Sends cancel requests where blocking harms nobody.
private enum CancelRequests {
    private static let queue = DispatchQueue(label: "postgres.cancel", attributes: .concurrent)
    private static let underWay = Atomic<Int>(0)
    /// A host that swallows packets holds a thread for minutes; beyond this many, the server has to notice the closed
    /// socket by itself.
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

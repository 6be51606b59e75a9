import Glibc
import Synchronization

/// One thread that waits on epoll and runs everything that is due: descriptor events, timers, and work from other
/// threads.
///
/// It runs one thing at a time, so objects that belong to a loop need no locks. Nothing that runs on it may block. The
/// thread keeps the loop alive until ``shutDown()``.
package final class EventLoop: @unchecked Sendable {
    // Unchecked, but correct: `inbox` has a lock and `thread` is atomic. All other mutable state is used only on the
    // loop's thread, and every entry point checks that.
    private struct Inbox {
        var work: [@Sendable () -> Void] = []
        /// False only while the thread sleeps or is about to sleep. Then the next piece of work must signal it.
        var isAwake = true
        var phase = Phase.running
        var whenStopped: [CheckedContinuation<Void, Never>] = []
    }

    private enum Phase { case running, stopping, stopped }

    private let inbox = Mutex(Inbox())
    private let thread = Atomic<UInt>(0)
    private let handle = Mutex<OSThread?>(nil)
    private let wakeUp: WakeUp
    private static let wakeUpNumber: UInt64 = 0

    let poller: Poller
    var timers = TimerHeap<() -> Void>()
    var registrations: [UInt64: Registration] = [:]
    var lastRegistration = EventLoop.wakeUpNumber
    var waiters: [ObjectIdentifier: ReadinessWaiter] = [:]
    private var drained: [@Sendable () -> Void] = []

    /// The name of the thread.
    package let name: String

    /// Starts the thread.
    ///
    /// - Throws: ``ReactorError/Code/system`` if the process has no more descriptors or threads.
    package init(name: String) throws(ReactorError) {
        self.name = name
        poller = try Poller()
        wakeUp = try WakeUp()
        try poller.add(wakeUp.descriptor, .read, number: Self.wakeUpNumber)
        let started = try OSThread(name: name) { [self] in run() }
        handle.withLock { $0 = started }
    }

    /// Whether the caller is the loop's own thread.
    package var isCurrent: Bool { thread.load(ordering: .relaxed) == OSThread.current }

    /// Traps on any other thread, because the caller would race with the loop.
    package func preconditionOnLoop() {
        precondition(isCurrent, "this must run on its event loop")
    }

    /// Queues `work` to run on the loop, after earlier work. Any thread may call it.
    ///
    /// Many calls cost one wake-up. Work that is queued on the loop itself runs in the next pass, never inside this
    /// call.
    ///
    /// - Returns: False if the loop is shutting down; `work` is then dropped.
    @discardableResult
    package func execute(_ work: @escaping @Sendable () -> Void) -> Bool {
        let (accepted, mustSignal) = inbox.withLock { inbox in
            guard inbox.phase == .running else { return (false, false) }
            inbox.work.append(work)
            defer { inbox.isAwake = true }
            return (true, !inbox.isAwake)
        }
        if mustSignal { wakeUp.signal() }
        return accepted
    }

    /// Runs `body` on the loop and returns its result. It costs two thread hops, so avoid it on hot paths.
    ///
    /// - Throws: ``ReactorError/Code/shutDown`` if the loop has ended; `body` has then not run.
    package func perform<Result: Sendable>(
        _ body: @escaping @Sendable () -> Result
    ) async throws(ReactorError) -> Result {
        let result: Result? = await withCheckedContinuation { continuation in
            if !execute({ continuation.resume(returning: body()) }) { continuation.resume(returning: nil) }
        }
        guard let result else { throw ReactorError(.shutDown, operation: "perform") }
        return result
    }

    /// Runs all queued work, then ends the thread. Open waits fail with ``ReactorError/Code/shutDown``.
    ///
    /// Registrations and timers are dropped without a call, so their owners must be closed before. Any thread except
    /// the loop's own may call it; a second call waits for the first.
    package func shutDown() async {
        precondition(!isCurrent, "a loop cannot wait for its own end")
        await withCheckedContinuation { continuation in
            let (isOver, mustSignal) = inbox.withLock { inbox in
                if inbox.phase == .stopped { return (true, false) }
                inbox.phase = .stopping
                inbox.whenStopped.append(continuation)
                defer { inbox.isAwake = true }
                return (false, !inbox.isAwake)
            }
            if isOver { continuation.resume() }
            if mustSignal { wakeUp.signal() }
        }
        // The thread only has to return now, so this blocks for a negligible time.
        handle.withLock { $0.take() }?.join()
    }

    // MARK: The thread

    private func run() {
        thread.store(OSThread.current, ordering: .relaxed)
        while runPass() {}
        finish()
    }

    /// One round: work from other threads, timers, then a wait for descriptors. False if the loop must end.
    private func runPass() -> Bool {
        inbox.withLock { inbox in
            inbox.isAwake = true
            swap(&inbox.work, &drained)
        }
        for work in drained { work() }
        drained.removeAll(keepingCapacity: true)
        runTimers()
        let nextDue = timers.nextDue()
        let now = Self.nanoseconds()
        let (goesOn, isIdle) = inbox.withLock { inbox in
            guard inbox.work.isEmpty else { return (true, false) }
            guard inbox.phase == .running else { return (false, false) }
            inbox.isAwake = false
            return (true, true)
        }
        guard goesOn else { return false }
        wait(milliseconds: isIdle ? Self.milliseconds(from: now, until: nextDue) : 0)
        return true
    }

    private func wait(milliseconds: Int32) {
        do {
            var isFirst = true
            try poller.wait(milliseconds: milliseconds) { number, ready in
                if isFirst { inbox.withLock { $0.isAwake = true } }
                isFirst = false
                if number == Self.wakeUpNumber { wakeUp.clear() } else { registrations[number]?.handler(ready) }
            }
        } catch {
            // epoll_wait fails only for an invalid descriptor or buffer. Then nothing could ever run on this loop
            // again.
            preconditionFailure("event loop \(name): \(error)")
        }
    }

    private func finish() {
        for waiter in waiters.values { waiter.finish(.failure(ReactorError(.shutDown, operation: "wait"))) }
        waiters = [:]
        registrations = [:]
        timers.removeAll()
        let waiting = inbox.withLock { inbox in
            inbox.phase = .stopped
            defer { inbox.whenStopped = [] }
            return inbox.whenStopped
        }
        for continuation in waiting { continuation.resume() }
    }
}

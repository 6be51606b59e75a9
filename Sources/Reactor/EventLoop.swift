import Glibc
import Synchronization

/// One thread that waits on epoll and calls back whoever is due: descriptors, timers, and work from other threads.
///
/// Everything registered here is called on that thread, one thing at a time, so the objects that live on a loop need no
/// locks. Nothing that runs on it may block. The thread keeps the loop alive until ``shutDown()``.
package final class EventLoop: @unchecked Sendable {
    // Sendable without a check by the compiler: `inbox` has its lock, `thread` is atomic, the rest of the mutable state
    // is touched on the loop's thread only, which every entry point checks.
    private struct Inbox {
        var work: [@Sendable () -> Void] = []
        /// False only while the thread sleeps, or is about to: then the next piece of work must signal.
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
    /// - Throws: ``ReactorError/Code/system`` when the process is out of descriptors or threads.
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

    /// Traps when called on any other thread: the caller would race with the loop.
    package func preconditionOnLoop() {
        precondition(isCurrent, "this must run on its event loop")
    }

    /// Has `work` called on the loop, after what was handed over before it. Any thread.
    ///
    /// Many calls cost one wake-up. What is handed over on the loop itself runs in its next pass, never inside the
    /// call.
    ///
    /// - Returns: false when the loop is shutting down; `work` is then dropped.
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

    /// Runs `body` on the loop and returns its result. Not for hot paths: one hop there and one back.
    ///
    /// - Throws: ``ReactorError/Code/shutDown`` when the loop is gone; `body` has then not run.
    package func perform<Result: Sendable>(
        _ body: @escaping @Sendable () -> Result
    ) async throws(ReactorError) -> Result {
        let result: Result? = await withCheckedContinuation { continuation in
            if !execute({ continuation.resume(returning: body()) }) { continuation.resume(returning: nil) }
        }
        guard let result else { throw ReactorError(.shutDown, operation: "perform") }
        return result
    }

    /// Runs what was handed over so far, then ends the thread; waits that are open fail with
    /// ``ReactorError/Code/shutDown``.
    ///
    /// Registrations and timers are dropped without a call: their owners must have been closed before. Any thread but
    /// the loop's own; a second call waits for the first.
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
        // The thread has nothing left to do but to return, so this does not block for any time that counts.
        handle.withLock { $0.take() }?.join()
    }

    // MARK: The thread

    private func run() {
        thread.store(OSThread.current, ordering: .relaxed)
        while runPass() {}
        finish()
    }

    /// One round: work from other threads, timers, then a wait for descriptors. False when the loop is to end.
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
            // Only a wrong descriptor or buffer can make epoll_wait fail: nothing on this loop could ever run again.
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

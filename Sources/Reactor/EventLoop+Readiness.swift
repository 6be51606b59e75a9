import Synchronization

extension EventLoop {
    /// Waits once until `fd` is ready for something in `interest`. Any task may call it.
    ///
    /// When it returns or throws, the loop no longer watches the descriptor, so you may close it or wait again at once.
    /// Only one wait per descriptor is allowed at a time: pass both interests in one call.
    ///
    /// - `deadline`: `nil` means no limit.
    /// - `goOn`: called on the loop when the descriptor is ready. It returns the next interest to wait for, or `nil` to
    ///   return. So work in several steps wakes the task only once. It must not block, and must not touch anything that
    ///   the task may use before this method returns or throws.
    /// - Returns: What it is ready for. An error or a hang-up counts as the whole interest.
    /// - Throws: ``ReactorError/Code/timedOut``, ``ReactorError/Code/cancelled`` if the task is cancelled,
    ///   ``ReactorError/Code/shutDown``, or ``ReactorError/Code/system`` if the descriptor cannot be watched.
    package func readiness(
        of fd: Int32,
        _ interest: Interest,
        deadline: ContinuousClock.Instant?,
        goOn: @escaping @Sendable () -> Interest? = { nil }
    ) async throws(ReactorError) -> Interest {
        let cancellation = Cancellation()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<ReadinessResult, Never>) in
                let accepted = execute { [self] in
                    wait(for: fd, interest, deadline, goOn, cancellation, continuation)
                }
                if !accepted { continuation.resume(returning: .failure(ReactorError(.shutDown, operation: "wait"))) }
            }
        } onCancel: {
            cancellation.isRequested.store(true, ordering: .releasing)
            execute { [self] in
                finishWait(ObjectIdentifier(cancellation), .failure(ReactorError(.cancelled, operation: "wait")))
            }
        }
        return try result.get()
    }

    private func wait(
        for fd: Int32,
        _ interest: Interest,
        _ deadline: ContinuousClock.Instant?,
        _ goOn: @escaping @Sendable () -> Interest?,
        _ cancellation: Cancellation,
        _ continuation: CheckedContinuation<ReadinessResult, Never>
    ) {
        // A cancellation that ran before this found no waiter to finish, but has set the flag.
        if cancellation.isRequested.load(ordering: .acquiring) {
            continuation.resume(returning: .failure(ReactorError(.cancelled, operation: "wait")))
            return
        }
        let id = ObjectIdentifier(cancellation)
        do {
            let registration = try register(fd: fd, interest: interest) { [unowned self] ready in
                isReady(id, ready, goOn)
            }
            let timer = deadline.map { deadline in
                schedule(after: ContinuousClock.now.duration(to: deadline)) { [unowned self] in
                    finishWait(id, .failure(ReactorError(.timedOut, operation: "wait")))
                }
            }
            waiters[id] = ReadinessWaiter(
                cancellation: cancellation,
                continuation: continuation,
                registration: registration,
                timer: timer
            )
        } catch {
            continuation.resume(returning: .failure(error))
        }
    }

    private func isReady(_ id: ObjectIdentifier, _ ready: Interest, _ goOn: () -> Interest?) {
        guard let registration = waiters[id]?.registration else { return }
        guard let next = goOn() else { return finishWait(id, .success(ready.intersection(registration.interest))) }
        do {
            try update(registration, interest: next)
        } catch {
            finishWait(id, .failure(error))
        }
    }

    private func finishWait(_ id: ObjectIdentifier, _ result: ReadinessResult) {
        guard let waiter = waiters.removeValue(forKey: id) else { return }
        cancel(waiter.registration)
        if let timer = waiter.timer { cancel(timer) }
        waiter.finish(result)
    }
}

typealias ReadinessResult = Result<Interest, ReactorError>

/// One open wait. It belongs to the loop.
struct ReadinessWaiter {
    /// Retained while its identity is the key of the wait.
    let cancellation: Cancellation
    let continuation: CheckedContinuation<ReadinessResult, Never>
    let registration: Registration
    let timer: TimerID?

    func finish(_ result: ReadinessResult) {
        continuation.resume(returning: result)
    }
}

/// Whether the waiting task was cancelled. Its identity is also the key of the wait.
final class Cancellation: Sendable {
    let isRequested = Atomic<Bool>(false)
}

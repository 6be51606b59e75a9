import Synchronization

extension EventLoop {
    /// Waits until `fd` is ready for something in `interest`, once. Any task.
    ///
    /// When this returns or throws, the descriptor is no longer watched, so it may be closed or waited for again at
    /// once. One wait at a time per descriptor: give both interests in one call.
    ///
    /// - `deadline`: nil means for ever.
    /// - `goOn`: called on the loop when it is ready, so that what takes several turns does not wake the task for each:
    ///   what to wait for next, nil to return. It must not block, nor touch what the task may touch before this returns
    ///   or throws.
    /// - Returns: what it is ready for; an error or a hang-up counts as everything that was asked for.
    /// - Throws: ``ReactorError/Code/timedOut``, ``ReactorError/Code/cancelled`` when the task is cancelled,
    ///   ``ReactorError/Code/shutDown``, or ``ReactorError/Code/system`` when the descriptor cannot be watched.
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
        // A cancellation that got here first found nobody to finish, but has left its mark.
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

/// One open wait. Belongs to the loop.
struct ReadinessWaiter {
    /// Kept alive as long as its identity is the wait's name.
    let cancellation: Cancellation
    let continuation: CheckedContinuation<ReadinessResult, Never>
    let registration: Registration
    let timer: TimerID?

    func finish(_ result: ReadinessResult) {
        continuation.resume(returning: result)
    }
}

/// Whether the waiting task was cancelled; also the name of the wait.
final class Cancellation: Sendable {
    let isRequested = Atomic<Bool>(false)
}

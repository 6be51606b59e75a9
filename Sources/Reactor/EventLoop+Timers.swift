import Glibc

extension EventLoop {
    /// Calls `work` once on the loop after `delay`, or slightly later (the kernel counts milliseconds).
    ///
    /// Call it only on the loop. Timers run in the order of their due times; equal times run in the order of
    /// scheduling.
    @discardableResult
    package func schedule(after delay: Duration, _ work: @escaping () -> Void) -> TimerID {
        preconditionOnLoop()
        let (seconds, attoseconds) = delay.components
        // About a century, which is practically forever and avoids overflow of the sum.
        let whole = UInt64(min(max(seconds, 0), 3_000_000_000))
        let fraction = seconds < 0 ? 0 : UInt64(max(attoseconds, 0) / 1_000_000_000)
        return timers.schedule(at: Self.nanoseconds() + whole * 1_000_000_000 + fraction, work)
    }

    /// Cancels a timer. It may have run or been cancelled before. Only on the loop.
    package func cancel(_ timer: TimerID) {
        preconditionOnLoop()
        timers.cancel(timer)
    }

    func runTimers() {
        guard timers.count > 0 else { return }
        // The clock is read once. So a timer that schedules another one for "now" cannot keep the loop from its
        // descriptors.
        let now = Self.nanoseconds()
        while let work = timers.popDue(at: now) { work() }
    }

    /// The steady clock of the timers.
    static func nanoseconds() -> UInt64 {
        var time = timespec()
        // It fails only for an unknown clock.
        _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// The timeout for the kernel (-1: no limit). It is rounded up; otherwise the loop would spin through the last
    /// millisecond.
    static func milliseconds(from now: UInt64, until due: UInt64?) -> Int32 {
        guard let due else { return -1 }
        guard due > now else { return 0 }
        return Int32(min((due - now + 999_999) / 1_000_000, 60_000))
    }
}

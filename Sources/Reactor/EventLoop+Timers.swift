import Glibc

extension EventLoop {
    /// Has `work` called once on the loop, `delay` from now or a little later (the kernel counts milliseconds).
    ///
    /// Only on the loop. Timers that are due together run in the order of their due times, then of their scheduling.
    @discardableResult
    package func schedule(after delay: Duration, _ work: @escaping () -> Void) -> TimerID {
        preconditionOnLoop()
        let (seconds, attoseconds) = delay.components
        // A century is for ever, and keeps the sum far from overflow.
        let whole = UInt64(min(max(seconds, 0), 3_000_000_000))
        let fraction = seconds < 0 ? 0 : UInt64(max(attoseconds, 0) / 1_000_000_000)
        return timers.schedule(at: Self.nanoseconds() + whole * 1_000_000_000 + fraction, work)
    }

    /// Forgets a timer; one that has run or was cancelled is no mistake. Only on the loop.
    package func cancel(_ timer: TimerID) {
        preconditionOnLoop()
        timers.cancel(timer)
    }

    func runTimers() {
        guard timers.count > 0 else { return }
        // One reading of the clock: a timer that schedules another for "now" does not keep the loop from its
        // descriptors.
        let now = Self.nanoseconds()
        while let work = timers.popDue(at: now) { work() }
    }

    /// The steady clock that timers are kept in.
    static func nanoseconds() -> UInt64 {
        var time = timespec()
        // Fails only for an unknown clock.
        _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// How long the kernel is to wait (-1: for ever); rounded up, or the loop would spin through the last millisecond.
    static func milliseconds(from now: UInt64, until due: UInt64?) -> Int32 {
        guard let due else { return -1 }
        guard due > now else { return 0 }
        return Int32(min((due - now + 999_999) / 1_000_000, 60_000))
    }
}

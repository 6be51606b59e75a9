import APITypes
import Glibc

extension Instant {
    /// The time by this machine's own clock. Promises speak of the database's; this one is what the doctor compares
    /// with it.
    static func wallClock() -> Instant {
        var time = timespec()
        // Cannot fail: the clock exists and the place is ours.
        _ = clock_gettime(CLOCK_REALTIME, &time)
        return Instant(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000)
    }
}

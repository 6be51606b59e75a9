/// One instant on both clocks.
package struct ClockReading: Sendable, Hashable {
    /// Milliseconds since 1970 on the wall clock, which may jump.
    package var milliseconds: Int64
    /// Nanoseconds on the monotonic clock, for order and durations within one run.
    package var uptimeNanoseconds: Int64 = 0

    /// UNIX seconds.
    package var seconds: Int64 { milliseconds / 1000 }
}

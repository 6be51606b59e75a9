/// Runs `body` and cancels it at `end`.
///
/// - Returns: What `body` gives, cancelled or not, and whether that came after `end`, or after the caller was
///   cancelled.
func cancelling<Value: Sendable>(
    at end: ContinuousClock.Instant,
    _ body: @escaping @Sendable () async -> Value
) async -> (value: Value, isLate: Bool) {
    await withTaskGroup(of: Value?.self) { group in
        group.addTask { await body() }
        group.addTask {
            try? await ContinuousClock().sleep(until: end)  // throws only when cancelled
            return nil
        }
        var isLate = false
        for await value in group {
            group.cancelAll()
            if let value { return (value, isLate) }
            isLate = true
        }
        // A reason to trap: the first of the two tasks ends with a value.
        preconditionFailure("a task without a value")
    }
}

/// Runs `body` and cancels it at `end`.
///
/// - Returns: The value of `body`, and whether it came after `end` or after the caller's cancellation.
func cancelling<Value: Sendable>(
    at end: ContinuousClock.Instant,
    _ body: @escaping @Sendable () async -> Value
) async -> (value: Value, isLate: Bool) {
    await withTaskGroup(of: Value?.self) { group in
        group.addTask { await body() }
        group.addTask {
            try? await ContinuousClock().sleep(until: end)  // throws only on cancellation
            return nil
        }
        var isLate = false
        for await value in group {
            group.cancelAll()
            if let value { return (value, isLate) }
            isLate = true
        }
        // Cannot happen: `body` always returns a value.
        preconditionFailure("a task without a value")
    }
}

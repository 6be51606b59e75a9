/// A server left a connection open that it should have closed long ago.
struct ConnectionLeftOpen: Error {}

/// Reads from a connection until the server closes it. What a server forgets fails the test that waits for it, by name,
/// and does not hold up the others: whatever a server waits for by itself is far shorter in these tests.
///
/// - Throws: ``ConnectionLeftOpen`` after a minute.
func untilClosed<Result: Sendable>(_ read: @escaping @Sendable () async throws -> Result) async throws -> Result {
    try await withThrowingTaskGroup(of: Result.self) { tasks in
        tasks.addTask { try await read() }
        tasks.addTask {
            try await Task.sleep(for: .seconds(60))
            throw ConnectionLeftOpen()
        }
        defer { tasks.cancelAll() }
        guard let result = try await tasks.next() else { throw ConnectionLeftOpen() }
        return result
    }
}

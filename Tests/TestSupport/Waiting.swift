import Dispatch

/// Looks again and again, until the answer is there (nil: not yet). When the time is over it fails, naming `what`.
///
/// For what another process does, a database server's included, and tells nobody about; everything else has a signal of
/// its own.
package func eventually<Answer>(
    _ what: String,
    within limit: Duration = .seconds(60),
    every interval: Duration = .milliseconds(25),
    _ look: () async throws -> Answer?
) async throws -> Answer {
    let deadline = ContinuousClock.now + limit
    while true {
        if let answer = try await look() { return answer }
        guard ContinuousClock.now < deadline else { throw Failure("not within \(limit): \(what)") }
        await pause(interval)
    }
}

/// The same for something that is or is not so.
package func eventually(
    _ what: String,
    within limit: Duration = .seconds(60),
    every interval: Duration = .milliseconds(25),
    is condition: () async throws -> Bool
) async throws {
    try await eventually(what, within: limit, every: interval) { try await condition() ? () : nil }
}

/// Lets time pass, also in a cancelled task, so that what has been started is ended in order.
package func pause(_ duration: Duration) async {
    await withCheckedContinuation { continuation in
        DispatchQueue.global().asyncAfter(deadline: .now() + duration / .seconds(1)) { continuation.resume() }
    }
}

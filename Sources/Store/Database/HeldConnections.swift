import APITypes
import Synchronization

/// The connections that requests of this daemon hold, each with a transaction, while they wait for APNs.
///
/// A quarter of the pool at most, and at least one: however long APNs is silent, the rest is there for what needs a
/// connection for a moment.
package final class HeldConnections: Sendable {
    private let limit: Int
    private let count = Mutex(0)

    /// - Parameter poolSize: how many connections the pool has at most.
    package init(of poolSize: Int) {
        limit = max(poolSize / 4, 1)
    }

    /// Carries out what waits for APNs with a lent connection in its hand.
    ///
    /// - Throws: 503 `unavailable`, at once, where no more may be held; what `body` throws.
    package func holding<R>(_ body: () async throws -> R) async throws -> R {
        let isFree = count.withLock { count in
            guard count < limit else { return false }
            count += 1
            return true
        }
        guard isFree else {
            throw Problem.unavailable("Too many requests with an Idempotency-Key wait for APNs.")
        }
        defer { count.withLock { $0 -= 1 } }
        return try await body()
    }
}

import Store
import Synchronization
import Waiting

/// Limits how many requests to Apple for channels of one app in one environment run at the same time. Where Apple is silent,
/// no other app waits.
///
/// Making a channel is not idempotent. A request that waits at Apple past its deadline is repeated, and then nobody knows
/// the channel of the first one.
final class ChannelRequests: Sendable {
    private static let width = 32

    private struct Place {
        let turnstile = Turnstile(width: ChannelRequests.width)
        var users = 0
    }

    private let places = Mutex<[HaltScope: Place]>([:])

    /// Runs a request when there is room for it.
    func pass<Result: Sendable>(
        of scope: HaltScope,
        _ request: () async throws -> Result
    ) async rethrows -> Result {
        let turnstile = places.withLock { places in
            var place = places[scope] ?? Place()
            place.users += 1
            places[scope] = place
            return place.turnstile
        }
        defer {
            places.withLock { places in
                places[scope]?.users -= 1
                if places[scope]?.users == 0 { places[scope] = nil }
            }
        }
        return try await turnstile.pass(request)
    }
}

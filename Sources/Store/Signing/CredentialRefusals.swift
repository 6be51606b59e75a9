package import APNSTransport
import ActivityModel
import Synchronization

/// Remembers where APNs refuses this daemon's key, team, topic or capability. Pushes wait there until an operator acts.
package final class CredentialRefusals: Sendable {
    /// Where a refusal counts. Broadcasts need a capability of their own.
    package struct Place: Hashable, Sendable {
        package let scope: HaltScope
        package let isBroadcast: Bool

        package init(scope: HaltScope, isBroadcast: Bool) {
            self.scope = scope
            self.isBroadcast = isBroadcast
        }
    }

    /// The last refusal of a place. No push was accepted there since.
    package struct Refusal: Hashable, Sendable {
        package let place: Place
        /// Apple's reason; nil if no token could be signed.
        package let reason: String?
        /// Status and reason, safe to log.
        package let words: String
    }

    private struct Notice: Hashable {
        let scope: HaltScope
        let words: String
    }

    private struct State {
        var last: [Place: (refusal: Refusal, at: ContinuousClock.Instant)] = [:]
        var logged: [Notice: ContinuousClock.Instant] = [:]
    }

    /// How long a refusal is worth a word. What was refused is tried again meanwhile.
    private static let memory = Duration.seconds(900)
    /// Between two notices of the same.
    private static let pause = Duration.seconds(60)
    /// Reasons are Apple's, so that their number is bounded here.
    private static let mostNotices = 1_000

    private let state = Mutex(State())

    init() {}

    /// Takes down what came of pushes.
    ///
    /// - Returns: The refusal to log; nil if there is none, or if it was told of within the last minute.
    package func observe(
        _ outcome: BatchOutcome,
        at place: Place,
        now: ContinuousClock.Instant = .now
    ) -> Refusal? {
        guard let refused = outcome.exceptions.first(where: { $0.outcome.class == .credential })?.outcome else {
            if outcome.accepted > 0 { state.withLock { $0.last[place] = nil } }
            return nil
        }
        let refusal = Refusal(place: place, reason: refused.reason, words: refused.words)
        let notice = Notice(scope: place.scope, words: refusal.words)
        return state.withLock { state in
            state.last[place] = (refusal, now)
            if let before = state.logged[notice], before.duration(to: now) < Self.pause { return nil }
            if state.logged.count >= Self.mostNotices { state.logged = [:] }
            state.logged[notice] = now
            return refusal
        }
    }

    /// The refusals of the last quarter of an hour, in the order of apps and environments.
    package func current(at now: ContinuousClock.Instant = .now) -> [Refusal] {
        let found = state.withLock { state in
            state.last.values.filter { $0.at.duration(to: now) < Self.memory }.map { $0.refusal }
        }
        return found.sorted { one, other in
            let (left, right) = (one.place.scope, other.place.scope)
            if left.app != right.app { return left.app.rawValue < right.app.rawValue }
            if left.environment != right.environment { return left.environment.rawValue < right.environment.rawValue }
            return !one.place.isBroadcast && other.place.isBroadcast
        }
    }
}

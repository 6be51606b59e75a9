/// Decides what happens to one device's card as time passes: a token that does not arrive, a new card in
/// its place, and the end of its lifetime.
///
/// It has no clock: the caller passes ages, in microseconds since the card was started. The age of a card that has not
/// begun counts from its last report.
package struct CardWatch: Sendable, Hashable {
    /// The maximum lifetime of a card. After it iOS ends the card, and its token is dead (Apple, ActivityKit).
    package static let lifetimeSeconds = 8 * 3600
    /// How long a card that has not begun stays without a report. Nobody tells Tally when it begins, so that must be
    /// longer than any app sleeps before a match; 30 days are also the longest that APNs keeps a push.
    package static let pendingSeconds = 30 * 86_400

    /// An action that is due at some age.
    package enum Action: Sendable, Hashable {
        /// Wake the app in the background, so that it reports the card's update token.
        case wake
        /// Report that the token is overdue. Tally still waits for it.
        case reportOverdue
        /// Start a new card that continues it.
        case handOver
        /// Stop sending to the card.
        case expire
    }

    /// Whether it was started by push and has reported no token.
    package let isWaiting: Bool
    /// Whether Tally has woken its app for it.
    package private(set) var isWoken: Bool
    /// Whether it has been reported as overdue.
    package private(set) var isOverdue: Bool
    /// Whether a new card can continue it.
    package let isContinuable: Bool
    /// Whether it has not begun: its app has scheduled it.
    package let isPending: Bool

    package init(
        isWaiting: Bool,
        isWoken: Bool = false,
        isOverdue: Bool = false,
        isContinuable: Bool = false,
        isPending: Bool = false
    ) {
        self.isWaiting = isWaiting
        self.isWoken = isWoken
        self.isOverdue = isOverdue
        self.isContinuable = isContinuable
        self.isPending = isPending
    }

    private var longestSeconds: Int { isPending ? Self.pendingSeconds : Self.lifetimeSeconds }

    /// The actions due at this age. The card then counts as woken and reported. `canWake`: a device token exists, so
    /// Tally can wake the app.
    package mutating func actions(at age: Int64, _ policy: Policy, canWake: Bool) -> [Action] {
        if age >= Self.microseconds(longestSeconds) { return [.expire] }
        if isContinuable, let hours = policy.continueAfterHours, age >= Self.microseconds(hours * 3600) {
            return [.handOver]
        }
        guard isWaiting else { return [] }
        var actions: [Action] = []
        if let wakeAfter = policy.wakeAfterSeconds, !isWoken, canWake, age >= Self.microseconds(wakeAfter) {
            isWoken = true
            actions.append(.wake)
        }
        if !isOverdue, age >= Self.microseconds(policy.tokenWaitSeconds) {
            isOverdue = true
            actions.append(.reportOverdue)
        }
        return actions
    }

    /// The next age after this one at which something may be due; `nil`: never.
    package func nextAge(after age: Int64, _ policy: Policy) -> Int64? {
        guard age < Self.microseconds(longestSeconds) else { return nil }
        var ages = [longestSeconds]
        if isContinuable, let hours = policy.continueAfterHours { ages.append(hours * 3600) }
        if isWaiting {
            if let wakeAfter = policy.wakeAfterSeconds, !isWoken { ages.append(wakeAfter) }
            if !isOverdue { ages.append(policy.tokenWaitSeconds) }
        }
        return ages.map(Self.microseconds).filter { $0 > age }.min()
    }

    private static func microseconds(_ seconds: Int) -> Int64 { Int64(seconds) * 1_000_000 }
}

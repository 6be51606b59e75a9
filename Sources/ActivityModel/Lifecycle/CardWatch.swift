/// What time brings to one device's card, apart from changes: a token that does not come, and its own end.
///
/// Pure: ages are given, in microseconds since the card was started.
package struct CardWatch: Sendable, Hashable {
    /// How long a card is active at most; then the system ends it, and its token is dead (Apple, ActivityKit).
    package static let lifetimeSeconds = 8 * 3600

    /// What is to be done at some age.
    package enum Action: Sendable, Hashable {
        /// Wake the app in the background, so that it reports the card's update token.
        case wake
        /// Report that the token should have come by now. It is still waited for.
        case reportOverdue
        /// Send nothing any more.
        case expire
    }

    /// Whether it was started by push and has reported no token.
    package let isWaiting: Bool
    /// Whether its app has been woken for it.
    package private(set) var isWoken: Bool
    /// Whether it has been reported as overdue.
    package private(set) var isOverdue: Bool

    package init(isWaiting: Bool, isWoken: Bool = false, isOverdue: Bool = false) {
        self.isWaiting = isWaiting
        self.isWoken = isWoken
        self.isOverdue = isOverdue
    }

    /// What is due at this age; the card then counts as woken and reported. The app can be woken if there is a device
    /// token to do it by.
    package mutating func actions(at age: Int64, _ policy: Policy, canWake: Bool) -> [Action] {
        if age >= Self.microseconds(Self.lifetimeSeconds) { return [.expire] }
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

    /// The age at which something may be due next, after this one; nil: never.
    package func nextAge(after age: Int64, _ policy: Policy) -> Int64? {
        guard age < Self.microseconds(Self.lifetimeSeconds) else { return nil }
        var ages = [Self.lifetimeSeconds]
        if isWaiting {
            if let wakeAfter = policy.wakeAfterSeconds, !isWoken { ages.append(wakeAfter) }
            if !isOverdue { ages.append(policy.tokenWaitSeconds) }
        }
        return ages.map(Self.microseconds).filter { $0 > age }.min()
    }

    private static func microseconds(_ seconds: Int) -> Int64 { Int64(seconds) * 1_000_000 }
}

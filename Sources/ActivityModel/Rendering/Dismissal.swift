/// When the card of an ended activity disappears from the Lock Screen.
package enum Dismissal: Sendable, Hashable {
    /// Apple's default, up to 4 h.
    case systemDefault
    /// This many seconds after the end's timestamp; 0: at once.
    case after(seconds: Int)
    /// At the caller's time.
    case at(Timestamp)

    /// How far in the past the date of an immediate dismissal lies, in seconds.
    ///
    /// A date in the past removes the card at once (Apple, ActivityKit). The stamp itself is not certain to be past: it
    /// may run 2 s ahead, and a phone's clock may be slightly slow.
    private static let pastSeconds: Int64 = 60

    /// Combines the contract's two fields with the policy. `dismissAt` overrides `dismissAfterSeconds`, which overrides
    /// the policy.
    package init(dismissAt: Timestamp? = nil, dismissAfterSeconds: Int? = nil, policy: Policy) {
        self =
            if let dismissAt {
                .at(dismissAt)
            } else if let seconds = dismissAfterSeconds ?? policy.dismissAfterSeconds {
                .after(seconds: seconds)
            } else {
                .systemDefault
            }
    }

    /// The `dismissal-date` of an end with this stamp; `nil` omits the key.
    ///
    /// It is at most 4 h after the stamp, Apple's limit. The effect of a later date is not documented.
    package func date(stampedAt timestamp: Timestamp) -> Timestamp? {
        switch self {
        case .systemDefault: nil
        case .after(seconds: 0): timestamp - Self.pastSeconds
        case .after(let seconds): timestamp + Int64(min(seconds, Policy.maximumDismissal))
        case .at(let date): min(date, timestamp + Int64(Policy.maximumDismissal))
        }
    }
}

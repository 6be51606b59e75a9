/// When the card of an ended activity leaves the Lock Screen.
package enum Dismissal: Sendable, Hashable {
    /// Apple's default, up to 4 h.
    case systemDefault
    /// So many seconds after the end's timestamp; 0: at once.
    case after(seconds: Int)
    /// At a time of the caller's.
    case at(Timestamp)

    /// How far in the past the date of an immediate dismissal lies, in seconds.
    ///
    /// A date in the past removes the card at once (Apple, ActivityKit). The stamp may run 2 s ahead, and a phone's
    /// clock may be a little behind, so the stamp itself would not be certain to be past.
    private static let pastSeconds: Int64 = 60

    /// What the contract's two ways to say it mean; `dismissAt` goes before `dismissAfterSeconds`, and that before the
    /// policy.
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

    /// The `dismissal-date` of an end with this stamp; `nil` leaves the key out.
    ///
    /// Never later than Apple's 4 h, beyond which the meaning is not documented.
    package func date(stampedAt timestamp: Timestamp) -> Timestamp? {
        switch self {
        case .systemDefault: nil
        case .after(seconds: 0): timestamp - Self.pastSeconds
        case .after(let seconds): timestamp + Int64(min(seconds, Policy.maximumDismissal))
        case .at(let date): min(date, timestamp + Int64(Policy.maximumDismissal))
        }
    }
}

import APITypes
import ActivityModel

/// How much may wait to be accepted, and for how long. What comes beyond that would only make everything wait longer, so it is refused at
/// once, the least urgent first: a routine change is soon replaced by a newer one, an end by nothing. Pure.
struct IntakeLimit: Sendable {
    /// How many may wait before routine changes are refused.
    let waiting: Int
    /// How long they may have to wait before routine changes are refused. It is what a slow database needs: a number that a
    /// fast one takes in a second may take it a minute.
    let wait: Duration

    /// How long a change goes on being taken while the intake fills up.
    enum Weight: Sendable, Comparable {
        case routine, notable
        /// It tells people something: an alert, `critical`, `must_deliver`; or it is the report of a card.
        case pressing
        case end

        /// Its limits as a multiple of that of routine changes, in quarters.
        fileprivate var quarters: Int {
            switch self {
            case .routine: 4
            case .notable: 5
            case .pressing: 6
            case .end: 8
            }
        }
    }

    /// - Throws: 429 `too_many_requests` if so many wait, or for so long, that one of that weight is not taken any more.
    func admit(_ weight: Weight, behind backlog: Backlog) throws(Problem) {
        let isTooMuch = backlog.count >= waiting * weight.quarters / 4
        let isTooLong = backlog.wait.map { $0 > wait * weight.quarters / 4 } ?? false
        if isTooMuch || isTooLong { throw .tooManyRequests(retryAfter: 1) }
    }
}

extension RequestedChange {
    /// How urgent it is at most; which rule of the policy speaks for it is known when it is accepted.
    func weight(by policy: Policy) -> IntakeLimit.Weight {
        switch body {
        case .end: .end
        case .update(let request):
            if request.mustDeliver || request.alert != nil {
                .pressing
            } else if let urgency = request.urgency {
                Self.weight(of: urgency)
            } else {
                policy.rules.map { $0.mustDeliver ? .pressing : Self.weight(of: $0.urgency) }.max() ?? .routine
            }
        }
    }

    private static func weight(of urgency: Urgency) -> IntakeLimit.Weight {
        switch urgency {
        case .routine: .routine
        case .notable: .notable
        case .critical: .pressing
        }
    }
}

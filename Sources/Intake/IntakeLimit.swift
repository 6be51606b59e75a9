import APITypes
import ActivityModel

/// How much may wait to be accepted, and for how long. More would only make everything wait longer, so it is refused at
/// once, the least urgent first. A newer change soon replaces a routine one; nothing replaces an end. Pure.
package struct IntakeLimit: Sendable {
    /// How many may wait before routine changes are refused.
    let waiting: Int
    /// How long they may have to wait before routine changes are refused. It is what a slow database needs: a number
    /// that a fast one takes in a second may take it a minute.
    let wait: Duration
    /// How long what brings them has waited to be read.
    var unread = Duration.zero

    /// How long Tally accepts a change while the intake fills up.
    enum Weight: Sendable, Comparable, CaseIterable {
        case routine, notable
        /// It tells people something: an alert, `critical`, `must_deliver`; or it is the report of a card.
        case pressing
        case end

        /// Its limits as a multiple of those of routine changes, in quarters.
        fileprivate var quarters: Int {
            switch self {
            case .routine: 4
            case .notable: 5
            case .pressing: 6
            case .end: 8
            }
        }

        /// How long what brings it may have waited to be read; nil: as long as it takes. Until it is read, an end waits
        /// with the rest; so what is soon replaced is given up early there.
        fileprivate var patience: Duration? {
            switch self {
            case .routine: .milliseconds(250)
            case .notable: .milliseconds(500)
            case .pressing, .end: nil
            }
        }
    }

    /// The answer to a refused change: 429 `too_many_requests`.
    static let refusal = Problem.tooManyRequests(retryAfter: 1)

    /// - Throws: ``refusal`` if too many wait for that weight, or if it would wait, or has waited, too long.
    func admit(_ weight: Weight, behind backlog: Backlog) throws(Problem) {
        guard takes(weight, behind: backlog) else { throw Self.refusal }
    }

    /// The least of the weights that are still taken; nil if none is.
    func leastWeight(behind backlog: Backlog) -> Weight? {
        Weight.allCases.first { takes($0, behind: backlog) }
    }

    private func takes(_ weight: Weight, behind backlog: Backlog) -> Bool {
        let isTooMuch = backlog.count >= waiting * weight.quarters / 4
        let isTooLong = backlog.wait.map { $0 > wait * weight.quarters / 4 } ?? false
        let isTooLate = weight.patience.map { unread > $0 } ?? false
        return !isTooMuch && !isTooLong && !isTooLate
    }
}

extension IntakeLimit.Weight {
    fileprivate init(_ urgency: Urgency) {
        self =
            switch urgency {
            case .routine: .routine
            case .notable: .notable
            case .critical: .pressing
            }
    }

    /// The weight that a change itself declares; nil if the policy of its type decides.
    fileprivate init?(_ request: UpdateRequest) {
        if request.mustDeliver || request.alert != nil {
            self = .pressing
        } else if let urgency = request.urgency {
            self.init(urgency)
        } else {
            return nil
        }
    }

    /// The weight that an operation itself declares; nil if it does not wait with the changes, or if a policy decides.
    init?(_ work: BatchOperation.Work) {
        switch work {
        case .update(_, let request) where request.at == nil: self.init(request)
        case .end(_, let request) where request.at == nil: self = .end
        case .start, .update, .end, .device, .subscription: return nil
        }
    }
}

extension RequestedChange {
    /// Whether it goes before others: an end, or a change that itself declares to be pressing. A rule of the policy
    /// that might match does not count: with one such rule, every change of its type would go first.
    var isUrgent: Bool {
        switch body {
        case .end: true
        case .update(let request): IntakeLimit.Weight(request).map { $0 >= .pressing } ?? false
        }
    }

    /// How urgent it is at most; which rule of the policy speaks for it is known when it is accepted.
    func weight(by policy: Policy) -> IntakeLimit.Weight {
        switch body {
        case .end: .end
        case .update(let request):
            IntakeLimit.Weight(request)
                ?? policy.rules.map { $0.mustDeliver ? .pressing : IntakeLimit.Weight($0.urgency) }.max() ?? .routine
        }
    }
}

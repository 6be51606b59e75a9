import APNSTransport
package import ActivityModel

/// What the timeline keeps beside the engine's own tables: what left for whom, and what came of it.
///
/// It never holds a token, a payload, or anything else that a caller sent.
package struct TimelineRow: Sendable {
    /// What a row tells of.
    enum Kind: String, Sendable {
        /// One push: to a device, or without one to the channel.
        case push
        /// Many pushes, counted by their answers.
        case batch
        /// A request that changed nothing.
        case refused
        /// Rows that were not kept.
        case lost
    }

    /// What was sent, or asked for.
    package enum Event: String, Sendable, Hashable {
        case start, update, end
        /// An ordinary alert in the stead of a card.
        case alert
        /// A background push that lets the app report its card's token.
        case wake
        /// The end of a card that a new card continues.
        case continued

        package init(_ kind: ChangeKind) {
            switch kind {
            case .start: self = .start
            case .update: self = .update
            case .end: self = .end
            }
        }
    }

    let kind: Kind
    let activityKey: Int64
    var deviceKey: Int64?
    var segment: Int16?
    var event: Event?
    var revision: Revision?
    var priority: PushPriority?
    /// ``PushOutcome/Class/name``.
    var outcome: String?
    /// The HTTP status; nil where no answer came.
    var status: Int?
    /// A word of Apple's or ours.
    var reason: String?
    var apnsID: String?
    var uniqueID: String?
    var latency: Duration?
    /// All riders with a device key from the first to the last were sent to.
    var range: ClosedRange<Int64>?
    /// How often each answer came.
    var counts: [String: Int]?
    /// When it happened, by this machine's clock that only moves on; the writer turns it into the database's time.
    let recordedAt: ContinuousClock.Instant

    init(_ kind: Kind, activityKey: Int64, at recordedAt: ContinuousClock.Instant = .now) {
        self.kind = kind
        self.activityKey = activityKey
        self.recordedAt = recordedAt
    }

    /// Counts another part of the same batch in.
    mutating func add(_ other: TimelineRow) {
        counts = (counts ?? [:]).merging(other.counts ?? [:], uniquingKeysWith: +)
        if let mine = range, let others = other.range {
            range = min(mine.lowerBound, others.lowerBound)...max(mine.upperBound, others.upperBound)
        }
    }
}

package import APNSTransport
package import Cards
package import Store

/// A leased segment with so little to do that a ``SegmentGroup`` serves many at once.
package enum SmallSegment: Sendable {
    case update(PlainUpdate)
    case channel(ChannelToMake)

    /// The answers of APNs.
    package enum Answer: Sendable {
        /// The pushes of a ring that were not accepted.
        case exceptions(PushExceptions)
        /// The answer to the only push of a channel.
        case broadcast(PushOutcome)
        case made(MadeChannel)
        case notMade(PushOutcome)

        /// Whether it is as it should be, and can be stored together with others.
        package var isComplete: Bool {
            switch self {
            case .exceptions(let exceptions): exceptions.refused.isEmpty
            case .broadcast(let outcome): outcome.isAccepted
            case .made: true
            case .notMade: false
            }
        }
    }

    /// The lease of the segment.
    package var lease: SegmentLease {
        switch self {
        case .update(let update): update.lease
        case .channel(let wanted): wanted.lease
        }
    }

    /// The update, if it is one.
    package var update: PlainUpdate? { if case .update(let update) = self { update } else { nil } }
}

package import APNSTransport

/// A leased segment with so little to do that a ``SegmentGroup`` serves many at once.
package enum SmallSegment: Sendable {
    case ring(SmallRing)
    case broadcast(PlainBroadcast)
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
        case .ring(let ring): ring.lease
        case .broadcast(let broadcast): broadcast.lease
        case .channel(let wanted): wanted.lease
        }
    }

    /// The ring, if it is one.
    package var ring: SmallRing? { if case .ring(let ring) = self { ring } else { nil } }
    /// The broadcast, if it is one.
    package var broadcast: PlainBroadcast? { if case .broadcast(let broadcast) = self { broadcast } else { nil } }
    /// The channel to make, if it is one.
    package var channel: ChannelToMake? { if case .channel(let wanted) = self { wanted } else { nil } }
}

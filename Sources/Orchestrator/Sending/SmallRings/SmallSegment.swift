import APNSTransport

/// A leased segment with so little to do that a ``SegmentGroup`` serves many at once.
enum SmallSegment: Sendable {
    case ring(SmallRing)
    case broadcast(PlainBroadcast)

    /// What APNs did not accept.
    enum Failures: Sendable {
        case exceptions(PushExceptions)
        /// The answer to the only push of a channel.
        case broadcast(PushOutcome)

        var isEmpty: Bool {
            switch self {
            case .exceptions(let exceptions): exceptions.refused.isEmpty
            case .broadcast(let outcome): outcome.isAccepted
            }
        }
    }

    var lease: SegmentLease {
        switch self {
        case .ring(let ring): ring.lease
        case .broadcast(let broadcast): broadcast.lease
        }
    }

    var ring: SmallRing? { if case .ring(let ring) = self { ring } else { nil } }
    var broadcast: PlainBroadcast? { if case .broadcast(let broadcast) = self { broadcast } else { nil } }
}

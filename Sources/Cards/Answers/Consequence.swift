import APNSTransport

/// What an answer of APNs means for a push to a token. This file is the one place that decides it. Each kind of push asks
/// it and stores the result in its own tables.
package enum Consequence: Hashable {
    /// Nothing is left to do.
    case done
    /// Give the push up: APNs would refuse it every time. The token is fine.
    case refused
    /// Forget the token, unless the app reported it after this time (milliseconds since 1970).
    case forget(at: Int64?)
    /// Keep the token, but send nothing to it.
    case park
    /// Try again later.
    case again(mayHaveArrived: Bool)

    /// Whether the push is to be sent again.
    package var isAgain: Bool {
        guard case .again = self else { return false }
        return true
    }
}

extension PushOutcome.Class {
    /// What the answer means to the destination.
    package var consequence: Consequence {
        switch self {
        case .accepted: .done
        case .requestInvalid, .channelGone: .refused
        case .tokenDead(let milliseconds): .forget(at: milliseconds)
        case .tokenRejected: .park
        case .unknown: .again(mayHaveArrived: true)
        case .retry, .credential, .notSent: .again(mayHaveArrived: false)
        }
    }
}

/// What an answer of APNs means for a broadcast.
package enum BroadcastConsequence: Hashable {
    /// Nothing is left to do.
    case done
    /// Give the broadcast up: APNs would refuse it every time. The channel is fine.
    case refused
    /// The channel may be gone. If it is, give it up.
    case lost
    /// Try again later.
    case again(mayHaveArrived: Bool)

    /// Whether somebody may have it now.
    package var mayHaveArrived: Bool { self == .done || self == .again(mayHaveArrived: true) }
}

extension PushOutcome.Class {
    /// `isSettled`: whether the channel was made so long ago that all of Apple's hosts know it. Before, one of them may
    /// only not know it yet.
    package func broadcastConsequence(onSettled isSettled: Bool) -> BroadcastConsequence {
        switch self {
        case .accepted: .done
        case .requestInvalid: .refused
        case .channelGone: isSettled ? .lost : .again(mayHaveArrived: false)
        case .unknown: .again(mayHaveArrived: true)
        case .retry, .credential, .notSent, .tokenDead, .tokenRejected: .again(mayHaveArrived: false)
        }
    }
}

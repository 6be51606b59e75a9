import APNSTransport

/// What an answer of APNs means for a push to a token. This is the one place that decides it. Each kind of push asks it
/// and stores the result in its own tables; broadcasts ask only about the channel.
enum Consequence: Hashable {
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

    var isAgain: Bool {
        guard case .again = self else { return false }
        return true
    }
}

extension PushOutcome.Class {
    var consequence: Consequence {
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

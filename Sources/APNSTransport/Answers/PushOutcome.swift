/// The result of one request.
///
/// Every answer of Apple is a value, never a thrown error.
package struct PushOutcome: Sendable, Hashable {
    /// The class of the result. It tells the caller what to do.
    package enum Class: Sendable, Hashable {
        /// APNs accepted the push, which does not prove delivery.
        case accepted
        /// The token has been dead since the given time (milliseconds since 1970). The time is Apple's and may be
        /// missing. A token that the app reported later is alive.
        case tokenDead(at: Int64?)
        /// APNs refuses this token here. A wrong environment or topic looks the same, so the token is stored, but Tally
        /// stops sending to it.
        case tokenRejected
        /// A later retry may succeed.
        case retry
        /// The channel does not exist (any more).
        case channelGone
        /// A retry would be refused every time. The token and the channel are fine.
        case requestInvalid
        /// Key, team, topic or capability is wrong: an operator must act. The token and the channel are fine.
        case credential
        /// The request left and got no answer. It may have arrived.
        case unknown
        /// The request certainly did not leave, or was certainly not processed. A retry is safe.
        case notSent

        /// A code for logs, metrics and the timeline.
        package var name: String { word.rawValue }

        private var word: Word {
            switch self {
            case .accepted: .accepted
            case .tokenDead: .tokenDead
            case .tokenRejected: .tokenRejected
            case .retry: .retry
            case .channelGone: .channelGone
            case .requestInvalid: .requestInvalid
            case .credential: .credential
            case .unknown: .unknown
            case .notSent: .notSent
            }
        }
    }

    /// A ``Class`` as a plain code, without associated values. A row of ``AnswerRules`` names its verdict by it.
    package enum Word: String, Sendable, Hashable {
        case accepted
        case tokenDead = "token_dead"
        case tokenRejected = "token_rejected"
        case retry
        case channelGone = "channel_gone"
        case requestInvalid = "request_invalid"
        case credential
        case unknown
        case notSent = "not_sent"
    }

    package let `class`: Class
    /// The HTTP status; `nil` without an answer, or if the request was refused locally.
    package let status: Int?
    /// Apple's reason, or the one that Apple would have used, if `status` is `nil`. Unknown reasons are preserved as
    /// they came.
    package let reason: String?
    /// Apple's id of the request: `apns-id` or `apns-request-id`.
    package let apnsID: String?
    /// `apns-unique-id`, the id of the push in the delivery log of Apple's Push Notifications Console. Only the sandbox
    /// sends it.
    package let uniqueID: String?
    /// Details for people about a failure on the way, such as "connection refused". It never contains tokens or
    /// payloads.
    package let detail: String?

    /// Creates an outcome.
    package init(
        _ class: Class,
        status: Int? = nil,
        reason: String? = nil,
        apnsID: String? = nil,
        uniqueID: String? = nil,
        detail: String? = nil
    ) {
        self.class = `class`
        self.status = status
        self.reason = reason
        self.apnsID = apnsID
        self.uniqueID = uniqueID
        self.detail = detail
    }

    /// Whether APNs accepted the push.
    package var isAccepted: Bool { `class` == .accepted }

    /// Whether every push of the batch would get the same answer, because the cause is the key or another shared part.
    var concernsWholeBatch: Bool {
        switch `class` {
        case .credential: true
        case .requestInvalid: reason.map(AnswerRules.commonFaults.contains) ?? false
        case .accepted, .tokenDead, .tokenRejected, .retry, .channelGone, .unknown, .notSent: false
        }
    }
}

extension PushOutcome: CustomStringConvertible {
    /// `token_dead (410 Unregistered)`.
    package var description: String {
        let parts = [status.map(String.init), reason, detail].compactMap(\.self)
        return parts.isEmpty ? `class`.name : "\(`class`.name) (\(parts.joined(separator: " ")))"
    }
}

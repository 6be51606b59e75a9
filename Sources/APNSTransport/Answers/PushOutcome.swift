/// What became of one request.
///
/// An answer of Apple's, whatever it says, is a value and not an error.
package struct PushOutcome: Sendable, Hashable {
    /// What the caller does with it.
    package enum Class: Sendable, Hashable {
        /// APNs took it; not a proof of delivery.
        case accepted
        /// The token is dead since the given time (milliseconds since 1970), which is Apple's and may be missing. If
        /// the app reported the token later than that, it lives.
        case tokenDead(at: Int64?)
        /// APNs does not take this token here. Wrong environment or topic look the same, so the token is kept, not sent
        /// to.
        case tokenRejected
        /// May be sent again, later.
        case retry
        /// The channel does not exist, or no more.
        case channelGone
        /// The request would be refused every time; the token and the channel are fine.
        case requestInvalid
        /// Key, team, topic or capability is wrong; an operator has to act. The token and the channel are fine.
        case credential
        /// It left, and no answer came: it may have arrived.
        case unknown
        /// It certainly did not leave, or was certainly not processed: safe to send again.
        case notSent

        /// A word for logs, metrics and the timeline.
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

    /// A ``Class`` as it is written down: without what it carries.
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
    /// The HTTP status; nil where no answer came, or where the request was refused before it left.
    package let status: Int?
    /// Apple's word (or the one that Apple would have used, where `status` is nil). Unknown words are kept as they
    /// came.
    package let reason: String?
    /// The id that Apple gave the request: `apns-id` or `apns-request-id`.
    package let apnsID: String?
    /// `apns-unique-id`, by which the delivery log of Apple's Push Notifications Console finds the push; sent in the
    /// sandbox only.
    package let uniqueID: String?
    /// Words for people where the fault was on the way, such as "connection refused". Never holds tokens or payloads.
    package let detail: String?

    /// An outcome.
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

    /// Whether APNs took it.
    package var isAccepted: Bool { `class` == .accepted }

    /// Whether the same would be said of every push of the batch: it lies in the key, or in what all of them share.
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

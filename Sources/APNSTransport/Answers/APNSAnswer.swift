internal import HTTP2Engine

/// A parsed answer of APNs.
package struct APNSAnswer: Sendable, Hashable {
    /// The result for the caller.
    package let outcome: PushOutcome
    /// The consequence for the connection.
    package let advice: ConnectionAdvice

    /// Interprets an answer to a request of `kind`.
    ///
    /// `apnsID` is the value of `apns-id` or `apns-request-id`, `uniqueID` the value of `apns-unique-id`.
    package init(
        _ kind: APNSRequestKind,
        status: Int,
        body: [UInt8],
        apnsID: String? = nil,
        uniqueID: String? = nil
    ) {
        let body = APNSAnswerBody(body)
        let judgement = AnswerRules.judge(kind, status: status, reason: body.reason)
        let outcomeClass: PushOutcome.Class =
            switch judgement.verdict {
            case .accepted: .accepted
            case .tokenDead: .tokenDead(at: body.timestamp)
            case .tokenRejected: .tokenRejected
            case .retry: .retry
            case .channelGone: .channelGone
            case .requestInvalid: .requestInvalid
            case .credential: .credential
            case .unknown: .unknown
            case .notSent: .notSent
            }
        outcome = PushOutcome(outcomeClass, status: status, reason: body.reason, apnsID: apnsID, uniqueID: uniqueID)
        advice = judgement.advice
    }

    /// Interprets the response to a request of `kind`.
    init(_ kind: APNSRequestKind, _ response: HTTP2Response) {
        self.init(
            kind,
            status: response.status,
            body: response.body,
            apnsID: response.fields.apnsID,
            uniqueID: response.fields.uniqueID
        )
    }
}

extension HTTP2Fields {
    /// Apple's id of the request: `apns-id` for a push to a device, `apns-request-id` for all others.
    var apnsID: String? { self["apns-id"] ?? self["apns-request-id"] }

    /// The id of the push in the delivery log of Apple's Push Notifications Console. Only the sandbox sends it.
    var uniqueID: String? { self["apns-unique-id"] }
}

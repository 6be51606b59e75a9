internal import HTTP2Engine

/// An answer of APNs, taken apart.
package struct APNSAnswer: Sendable, Hashable {
    /// What it means for the caller.
    package let outcome: PushOutcome
    /// What it means for the connection.
    package let advice: ConnectionAdvice

    /// Reads an answer to a request of `kind`.
    ///
    /// `apnsID` is the value of `apns-id` or `apns-request-id`, `uniqueID` that of `apns-unique-id`.
    package init(
        _ kind: APNSRequestKind,
        status: Int,
        body: [UInt8],
        apnsID: String? = nil,
        uniqueID: String? = nil
    ) {
        let body = AnswerBody(body)
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
            }
        outcome = PushOutcome(
            outcomeClass,
            status: status,
            reason: body.reason,
            apnsID: apnsID,
            uniqueID: uniqueID
        )
        advice = judgement.advice
    }

    /// Reads the response to a request of `kind`.
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
    /// What Apple calls the request: `apns-id` of a push to a device, `apns-request-id` of all others.
    var apnsID: String? { self["apns-id"] ?? self["apns-request-id"] }

    /// What the delivery log of Apple's Push Notifications Console calls the push; sent in the sandbox only.
    var uniqueID: String? { self["apns-unique-id"] }
}

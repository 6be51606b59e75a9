/// An answer of APNs, taken apart.
package struct APNSAnswer: Sendable, Hashable {
    /// What it means for the caller.
    package let outcome: PushOutcome
    /// What it means for the connection.
    package let advice: ConnectionAdvice

    /// Reads an answer to a request of `kind`.
    ///
    /// `apnsID` is the value of `apns-id` or `apns-request-id`, `retryAfter` that of `retry-after`, which Apple does not
    /// document but a proxy may send; only whole seconds up to a day are understood.
    package init(
        _ kind: APNSRequestKind,
        status: Int,
        body: [UInt8],
        apnsID: String? = nil,
        retryAfter: String? = nil
    ) {
        let body = AnswerBody(body)
        let judgement = AnswerRules.judge(kind, status: status, reason: body.reason)
        let outcomeClass: PushOutcome.Class =
            switch judgement.verdict {
            case .accepted: .accepted
            case .tokenDead: .tokenDead(at: body.timestamp)
            case .tokenRejected: .tokenRejected
            case .retry: .retry(after: retryAfter.flatMap(Self.seconds))
            case .channelGone: .channelGone
            case .requestInvalid: .requestInvalid
            case .credential: .credential
            }
        outcome = PushOutcome(outcomeClass, status: status, reason: body.reason, apnsID: apnsID)
        advice = judgement.advice
    }

    private static func seconds(_ text: String) -> Duration? {
        guard let seconds = Int(text), (0...86_400).contains(seconds) else {
            return nil
        }
        return .seconds(seconds)
    }
}

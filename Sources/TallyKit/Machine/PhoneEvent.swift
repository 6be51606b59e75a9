/// What happens to TallyKit.
package enum PhoneEvent: Sendable {
    /// The app was launched, be it in the background.
    case launched(PhoneFacts)
    /// The app came to the foreground.
    case foreground
    /// The app takes input from now on, or is no longer on the screen.
    case active
    case background
    /// The time of ``Action/wake(at:)`` has come.
    case timer
    /// The answer to ``Action/read``.
    case read(Reading)
    /// A stream told a push-to-start token.
    case startToken(type: String, token: String)
    /// UIKit told the token of ordinary pushes.
    case deviceToken(String)
    /// A stream told a card, its state or its token.
    case card(SeenCard)
    /// A stream told that the content of a card has changed, and to which revision.
    case content(card: String, revision: Int)
    /// The app is about to start a card, and whether it could.
    case starting(activity: String, AppStart)
    case notStarted(activity: String)
    /// The app ends a card, which no stream may have told before.
    case ending(SeenCard)
    /// What this phone follows from now on: the whole list.
    case topics([String])
    /// Who is signed in, as the app says at each launch.
    case signedIn(String)
    case signedOut
    /// The answer to ``Action/getTicket(_:)``; nil if there is none, with the reason.
    case ticket(Ticket?, for: TicketRequest, failure: String?)
    /// The report with this number has just left.
    case sent(Int)
    /// The answer to the report with this number.
    case answer(Int, Answer)
    /// The report with this number got no answer.
    case noAnswer(Int)
}

/// Tally's answer to a report.
package struct Answer: Hashable, Sendable {
    package let status: Int
    /// Seconds.
    package let retryAfter: Double?
    package let body: AnswerBody

    package init(status: Int, retryAfter: Double? = nil, body: AnswerBody = AnswerBody()) {
        self.status = status
        self.retryAfter = retryAfter
        self.body = body
    }
}

/// What TallyKit reads of an answer: a receipt or a problem.
package struct AnswerBody: Codable, Hashable, Sendable {
    package struct Field: Codable, Hashable, Sendable {
        package var pointer: String?

        package init(pointer: String?) {
            self.pointer = pointer
        }
    }

    package var accepted: Bool?
    package var reason: String?
    package var code: String?
    package var detail: String?
    package var errors: [Field]?
    /// The share of cards of which Tally wants receipts.
    package var receiptSampling: Double?

    private enum CodingKeys: String, CodingKey {
        case accepted, reason, code, detail, errors
        case receiptSampling = "receipt_sampling"
    }

    package init(
        accepted: Bool? = nil,
        reason: String? = nil,
        code: String? = nil,
        detail: String? = nil,
        errors: [Field]? = nil,
        receiptSampling: Double? = nil
    ) {
        self.accepted = accepted
        self.reason = reason
        self.code = code
        self.detail = detail
        self.errors = errors
        self.receiptSampling = receiptSampling
    }
}

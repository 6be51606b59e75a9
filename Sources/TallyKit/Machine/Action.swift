/// What TallyKit is to do.
package enum Action: Hashable, Sendable {
    /// Store the memory before anything that follows.
    case save
    /// Read ActivityKit's properties, and answer with ``PhoneEvent/read(_:)``.
    case read
    case getTicket(TicketRequest)
    /// Answer with ``PhoneEvent/sent(_:)`` once it has left.
    case send(Report)
    /// End the card, and take it off the screen.
    case endCard(String)
    /// Send ``PhoneEvent/timer`` then. A later one replaces an earlier one; nil cancels it.
    case wake(at: Moment?)
    case problem(KitProblem)
    case ended(CardEnding)
}

/// A report that is ready to leave.
package struct Report: Hashable, Sendable {
    /// Its number, which is its generation, too.
    package let number: Int
    package let subject: Subject
    package let deviceID: String
    package let installation: String
    package let ticket: String
    package let news: News
    package let facts: PhoneFacts
}

/// The newest revision that a card was seen to show.
package struct Shown: Codable, Hashable, Sendable {
    /// What became of the receipt that names it.
    package enum Outcome: String, Codable, Hashable, Sendable {
        case taken
        /// Tally refused it for good. Another revision is reported again.
        case refused
    }

    package let revision: Int
    /// When the card began to show it; nil if the app found it there.
    package let since: Moment?
    /// Nil while it is to be reported.
    package var outcome: Outcome?

    init(revision: Int, since: Moment?) {
        self.revision = revision
        self.since = since
    }
}

/// A place in the stream of events: everything up to here has been read.
///
/// Events are in the order of their transactions' numbers, and within one transaction in the order of writing. Ids are
/// given out before they are committed, so a reader also needs a bound above which nothing is final yet:
/// ``EventPage/next`` never goes beyond it.
package struct EventCursor: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The database's number of the writing transaction.
    package let transaction: UInt64
    package let event: Int64

    package init(transaction: UInt64, event: Int64) {
        self.transaction = transaction
        self.event = event
    }

    /// Reads ``description``; nil for any other text.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let transaction = Self.number(parts[0]), let event = Self.number(parts[1]),
            let event = Int64(exactly: event)
        else { return nil }
        self.init(transaction: transaction, event: event)
    }

    /// Before every event.
    package static let oldest = EventCursor(transaction: 0, event: 0)

    /// Stands for the transactions of a database that this one was restored from: before every one of its own.
    package static let restored: UInt64 = 1

    package static func < (left: EventCursor, right: EventCursor) -> Bool {
        (left.transaction, left.event) < (right.transaction, right.event)
    }

    /// Digits alone: `Int` would take a sign as well.
    private static func number(_ text: Substring) -> UInt64? {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? UInt64(text) : nil
    }

    /// `<transaction>-<event>`, as in `Last-Event-ID`.
    package var description: String { "\(transaction)-\(event)" }
}

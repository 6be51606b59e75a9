/// What the promises of the design came to in one run of the system, by the phones' own view, by what callers were told
/// and by what is on record.
package struct Verdict: Sendable {
    /// What a run may do to the promises without breaking them, because of what was done to it.
    package struct Allowances: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) {
            self.rawValue = rawValue
        }

        /// Somebody may send what is old by now, a daemon that was paused say; phones ignore it.
        package static let oldPushes = Allowances(rawValue: 1)
        /// A start may have been lost twice, which is on record; nobody sends it a third time (promise 6).
        package static let lostStarts = Allowances(rawValue: 2)
        /// Apple may have rejected tokens.
        package static let rejectedTokens = Allowances(rawValue: 4)
    }

    /// Sentences that begin with the promise's number; none if all were kept.
    package internal(set) var broken: [String] = []
    /// Phones that follow something, and those of them that show what they should.
    package internal(set) var phones: Int64 = 0
    package internal(set) var right: Int64 = 0
    /// Starts that were sent a second time, as is on record.
    package internal(set) var repeatedStarts = 0
    /// Starts that were lost twice, as is on record: their phones show no card.
    package internal(set) var lostStarts = 0
    /// Pushes that came to a phone a second time, and were ignored.
    package internal(set) var repeatedPushes: Int64 = 0

    package init() {}

    /// Notes a promise that does not hold.
    mutating func expect(_ holds: Bool, _ sentence: @autoclosure () -> String) {
        if !holds { broken.append(sentence()) }
    }
}

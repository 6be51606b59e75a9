/// The starts that one phone has been sent, whatever the activity and its type: the phone has one budget for all of an
/// app's (Apple forum 799505), and drops what is over it without a word.
package struct StartSpending: Sendable, Hashable {
    /// Starts that left at one time and may have reached the phone.
    package struct Unit: Sendable, Hashable {
        /// Microseconds since 1970.
        package let at: Int64
        /// A start that was repeated without an answer counts twice.
        package let count: Int

        package init(at: Int64, count: Int = 1) {
            self.at = at
            self.count = count
        }
    }

    private let units: [Unit]

    package init(_ units: [Unit] = []) {
        self.units = units
    }

    /// When one more start fits the budget; nil: now. Times in microseconds since 1970.
    package func wait(under budget: Policy.StartBudget, now: Int64) -> Int64? {
        let window = Int64(budget.windowSeconds) * 1_000_000
        let spent = units.filter { $0.at > now - window }.sorted { $0.at < $1.at }
        var excess = spent.reduce(0) { $0 + $1.count } - budget.count + 1
        guard excess > 0 else { return nil }
        for unit in spent {
            excess -= unit.count
            if excess <= 0 { return unit.at + window }
        }
        // Only a budget of nothing comes here, which a policy cannot have.
        return now + window
    }
}

/// The starts that Tally has sent to one phone, for all activities and types. The phone has one budget for all starts
/// of an app (Apple forum 799505) and silently drops the excess.
package struct StartSpending: Sendable, Hashable {
    /// Starts that left at the same time and may have reached the phone.
    package struct Unit: Sendable, Hashable {
        /// Microseconds since 1970.
        package let at: Int64
        /// A start that was repeated for lack of an answer counts twice.
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

    /// The time at which one more start fits the budget; `nil`: now. Times are microseconds since 1970.
    package func wait(under budget: Policy.StartBudget, now: Int64) -> Int64? {
        let window = Int64(budget.windowSeconds) * 1_000_000
        let spent = units.filter { $0.at > now - window }.sorted { $0.at < $1.at }
        var excess = spent.reduce(0) { $0 + $1.count } - budget.count + 1
        guard excess > 0 else { return nil }
        for unit in spent {
            excess -= unit.count
            if excess <= 0 { return unit.at + window }
        }
        // Reached only with a budget of 0 starts, which no policy can have.
        return now + window
    }
}

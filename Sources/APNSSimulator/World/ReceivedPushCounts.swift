/// Counts push requests by their properties and answers.
package struct ReceivedPushCounts: Sendable {
    /// One row of the table.
    package struct Key: Sendable, Hashable {
        /// `start`, `update`, `end`, or `other`.
        package let event: String
        package let priority: Int
        package let status: Int
        package let reason: String?
    }

    package private(set) var counts: [Key: Int] = [:]

    mutating func add(event: String, priority: Int, status: Int, reason: String?) {
        counts[Key(event: event, priority: priority, status: status, reason: reason), default: 0] += 1
    }
}

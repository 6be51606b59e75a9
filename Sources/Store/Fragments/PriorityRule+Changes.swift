package import ActivityModel

extension PriorityRule {
    /// An SQL condition: the budget has no say in a change, and it goes out as ``routine``; what
    /// ``withoutBudget(kind:urgency:hasAlert:)`` says of it with its own alert.
    package static func isRoutine(_ change: String) -> String {
        "(\(change).kind = 'update' AND \(change).urgency = 'routine' AND \(change).alert IS NULL)"
    }
}

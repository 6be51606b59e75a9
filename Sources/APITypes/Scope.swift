/// What an API key may do.
package enum Scope: String, Sendable, Hashable, CaseIterable {
    /// Everything.
    case admin
    /// Types, channels, schedules, inspection.
    case operate
    /// Activities and pushes.
    case publish
    /// Devices and subscriptions.
    case register
    /// Looking, without changing.
    case read

    /// The scopes that this one includes, itself among them.
    package var implied: Set<Scope> {
        switch self {
        case .admin: Set(Scope.allCases)
        case .operate: [.operate, .read]
        case .publish: [.publish, .read]
        case .register: [.register]
        case .read: [.read]
        }
    }
}

extension Set<Scope> {
    /// Whether a key with these scopes may do what needs `scope`.
    package func allow(_ scope: Scope) -> Bool {
        contains { $0.implied.contains(scope) }
    }
}

/// The permissions of an API key.
package enum Scope: String, Sendable, Hashable, CaseIterable {
    /// All operations.
    case admin
    /// Types, channels, schedules and inspection.
    case operate
    /// Activities and pushes.
    case publish
    /// Devices and subscriptions.
    case register
    /// Read access only.
    case read

    /// The scopes that this one includes, itself included.
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
    /// Whether a key with these scopes may use a route that needs `scope`.
    package func allow(_ scope: Scope) -> Bool {
        contains { $0.implied.contains(scope) }
    }
}

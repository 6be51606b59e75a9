package import JSON

/// A rule of a policy: it sets the urgency of a change by the part of the content state that changes.
package struct PolicyRule: Sendable, Hashable {
    /// The JSON pointer into the content state. The rule matches if the value there differs, appears or disappears.
    package var changed: JSONPointer
    /// The urgency of a change that matches.
    package var urgency: Urgency
    /// Whether every destination gets its own push for it.
    package var mustDeliver: Bool
    /// A routine change waits until this much time has passed since the last push. A newer state replaces it meanwhile.
    package var minimumIntervalSeconds: Int?

    /// Creates a rule from its parts.
    package init(
        changed: JSONPointer,
        urgency: Urgency = .routine,
        mustDeliver: Bool = false,
        minimumIntervalSeconds: Int? = nil
    ) {
        self.changed = changed
        self.urgency = urgency
        self.mustDeliver = mustDeliver
        self.minimumIntervalSeconds = minimumIntervalSeconds
    }

    /// Whether the value that the rule watches differs between two content states.
    package func matches(from old: JSONValue, to new: JSONValue) -> Bool { old[changed] != new[changed] }
}

extension Policy {
    /// The rule for a change that names no urgency: the first whose value changed.
    package func rule(from old: JSONValue, to new: JSONValue) -> PolicyRule? {
        rules.first { $0.matches(from: old, to: new) }
    }
}

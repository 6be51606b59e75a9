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

extension PolicyRule {
    init(json: JSONValue, at place: JSONPointer) throws(InvalidFields) {
        var reader = FieldReader(json, at: place)
        var changed = JSONPointer()
        if let value = reader.required("changed") {
            if let pointer = value.string.flatMap({ JSONPointer($0) }) {
                changed = pointer
            } else {
                let code: InvalidFields.Issue.Code = value.string == nil ? .wrongType : .invalidValue
                reader.report("changed", code, "'changed' must be a JSON pointer, such as \"/home_score\".")
            }
        }
        let urgency = reader.choice("urgency", default: Urgency.routine)
        let mustDeliver = reader.flag("must_deliver")
        let interval = reader.optionalInteger("min_interval_seconds", in: 0...Policy.maximumDuration)
        if interval != nil, urgency != .routine {
            let message =
                "'min_interval_seconds' holds back routine changes only; this rule makes them \(urgency.rawValue)."
            reader.report("min_interval_seconds", .invalidValue, message)
        }
        try reader.finish()
        self.init(changed: changed, urgency: urgency, mustDeliver: mustDeliver, minimumIntervalSeconds: interval)
    }

    var json: JSONValue {
        var object: JSONObject = ["changed": .string(changed.description), "urgency": .string(urgency.rawValue)]
        if mustDeliver { object["must_deliver"] = true }
        object["min_interval_seconds"] = minimumIntervalSeconds.map { .number(JSONNumber($0)) }
        return .object(object)
    }
}

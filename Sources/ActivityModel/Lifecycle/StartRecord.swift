package import JSON

/// An accepted start as its caller sent it. Tally compares a second start of the same id with it.
package struct StartRecord: Sendable, Hashable {
    /// The attributes, which no later start of the same id may change.
    package let attributes: JSONValue
    /// All other members of the request.
    package let body: JSONObject

    /// Splits a request's body into its attributes and the rest.
    package init(body: JSONObject) {
        attributes = body["attributes"] ?? .null
        var rest = body
        rest["attributes"] = nil
        self.body = rest
    }
}

// MARK: Repeated starts

extension StartRecord {
    /// The result of a start whose id already exists.
    package enum Repeat: Sendable, Hashable {
        /// It equals the accepted start. Nothing changes, whatever happened since.
        case replay
        /// A running activity of that id has different attributes.
        case refuseAttributesConflict
        /// The accepted start differs in another member, or the activity has ended.
        case refuseActivityExists
    }

    /// Compares another start with this one. `state` is the state of the existing activity.
    package func judge(_ other: StartRecord, in state: ActivityState) -> Repeat {
        if other == self { return .replay }
        return state == .ended || other.attributes == attributes ? .refuseActivityExists : .refuseAttributesConflict
    }
}

package import JSON

/// An accepted start as its caller sent it.
package struct StartRecord: Sendable, Hashable {
    /// The attributes, which no later start of the same id may change.
    package let attributes: JSONValue
    /// Everything else of the request.
    package let body: JSONObject

    /// Splits a request's body into its attributes and the rest.
    package init(body: JSONObject) {
        attributes = body["attributes"] ?? .null
        var rest = body
        rest["attributes"] = nil
        self.body = rest
    }
}

// MARK: The same id again

extension StartRecord {
    /// What a start leads to whose id is taken.
    package enum Repeat: Sendable, Hashable {
        /// The very start that was accepted before; nothing changes, whatever came since.
        case replay
        /// A running activity of that id has other attributes.
        case refuseAttributesConflict
        /// The id is taken by a start that differs, or has been used up by an activity that ended.
        case refuseActivityExists
    }

    /// Judges another start against this one, whose activity has come to `state`.
    package func judge(_ other: StartRecord, in state: ActivityState) -> Repeat {
        if other == self { return .replay }
        return state == .ended || other.attributes == attributes ? .refuseActivityExists : .refuseAttributesConflict
    }
}

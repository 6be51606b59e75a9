package import ActivityModel
package import JSON

/// A change that Tally has accepted, as the simulator's report wants it: what `tally replay --log` writes.
package struct PostedChange: Sendable {
    package let activityID: ActivityID
    package let kind: ChangeKind
    package let revision: Revision
    /// Milliseconds since 1970 just before the request was sent.
    package let postedAt: Int64
    /// Nil for an end that brings none.
    package let contentState: JSONObject?

    package init(
        activityID: ActivityID,
        kind: ChangeKind,
        revision: Revision,
        postedAt: Int64,
        contentState: JSONObject?
    ) {
        self.activityID = activityID
        self.kind = kind
        self.revision = revision
        self.postedAt = postedAt
        self.contentState = contentState
    }

    package var json: JSONValue {
        var fields: JSONObject = [
            "activity_id": .string(activityID.rawValue), "kind": .string(kind.rawValue),
            "revision": .number(JSONNumber(revision)), "timestamp": nil,
            "posted_at_ms": .number(JSONNumber(postedAt)),
        ]
        fields["content_state"] = contentState.map { .object($0) }
        return .object(fields)
    }
}

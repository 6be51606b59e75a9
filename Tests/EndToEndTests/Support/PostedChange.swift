import APITypes
import ActivityModel
import JSON

/// A change that Tally has accepted, as the simulator's report wants it: what `tally replay --log` writes.
struct PostedChange: Sendable {
    let activityID: ActivityID
    let kind: ChangeKind
    let revision: Revision
    /// Milliseconds since 1970 just before the request was sent.
    let postedAt: Int64
    /// Nil for an end that brings none.
    let contentState: JSONObject?

    var json: JSONValue {
        var fields: JSONObject = [
            "activity_id": .string(activityID.rawValue), "kind": .string(kind.rawValue),
            "revision": .number(JSONNumber(revision)), "timestamp": nil,
            "posted_at_ms": .number(JSONNumber(postedAt)),
        ]
        fields["content_state"] = contentState.map { .object($0) }
        return .object(fields)
    }
}

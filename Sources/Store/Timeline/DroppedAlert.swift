package import ActivityModel
import JSON

/// A state that went out without an older alert, because both together do not fit in a push.
package struct DroppedAlert: Sendable, Hashable {
    let activity: ActivityNames
    /// Nil for an end without a state.
    let revision: Revision?

    package init(activity: ActivityNames, revision: Revision?) {
        self.activity = activity
        self.revision = revision
    }

    /// One event for all phones that missed the alert.
    func event(phones: Int) -> EventRows.Named {
        var detail: JSONObject = ["devices": .number(JSONNumber(phones))]
        if let revision { detail["revision"] = .number(JSONNumber(revision)) }
        return EventRows.Named(kind: .alertDropped, activity: activity, detail: detail)
    }
}

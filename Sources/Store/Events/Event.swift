package import ActivityModel
package import JSON

/// Something that operators or callers may want to know of. Never holds tokens, keys or payloads.
///
/// What each kind means and what its detail holds stands in `docs/reference/events.md`.
package struct Event: Sendable, Hashable {
    /// What it speaks of; names are looked up when it is written.
    package enum Subject: Sendable, Hashable {
        /// An app, or one of its devices.
        case app(BundleID, APNSEnvironment, deviceKey: Int64? = nil)
        /// An activity, or one device's part in it.
        case activity(key: Int64, deviceKey: Int64? = nil)
    }

    package let kind: Kind
    package let subject: Subject
    package let detail: JSONObject

    package init(_ kind: Kind, of subject: Subject, _ detail: JSONObject = [:]) {
        self.kind = kind
        self.subject = subject
        self.detail = detail
    }
}

package import ActivityModel
package import JSON

/// Something that operators or callers may want to know of. Never holds tokens, keys or payloads.
///
/// What each kind means and what its detail holds stands in `docs/events.md`.
package struct Event: Sendable, Hashable {
    /// What it speaks of; names are looked up when it is written.
    package enum Subject: Sendable, Hashable {
        case app(BundleID, APNSEnvironment)
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

extension Event {
    /// The word for what happened; snake case, `object_happened`. An open set: readers must expect more.
    package struct Kind: Sendable, Hashable, CustomStringConvertible {
        package let word: String

        package init(_ word: String) {
            self.word = word
        }

        package var description: String { word }

        /// Sending for an app and environment stands still: too many answers were rejections of tokens.
        package static let providerHalted = Kind("provider_halted")
        /// It goes on.
        package static let providerResumed = Kind("provider_resumed")
        /// A schedule could not be run and will not be.
        package static let scheduleFailed = Kind("schedule_failed")
        /// APNs says that a token is no longer active.
        package static let tokenDied = Kind("token_died")
        /// The database's clock stepped back.
        package static let clockSkew = Kind("clock_skew")
        /// A started phone has not reported its update token in time.
        package static let tokenWaitOverdue = Kind("token_wait_overdue")
        /// Changes were replaced by a newer one before any push of them left.
        package static let changesMerged = Kind("changes_merged")
        /// A change was sent with less priority than it asked for.
        package static let demoted = Kind("demoted")
    }
}

/// What a report is about. Of each, at most one report is on its way.
package enum Subject: Hashable, Sendable {
    case phone
    /// What the phone follows. A report of its own: if Tally refuses it, tokens are known all the same.
    case topics
    /// The card of an activity.
    case activity(String)

    var activity: String? {
        switch self {
        case .phone, .topics: nil
        case .activity(let id): id
        }
    }
}

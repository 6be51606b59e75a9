/// What a report is about. Of each, at most one report is on its way.
package enum Subject: Hashable, Sendable {
    case phone
    /// The card of an activity.
    case activity(String)

    var activity: String? {
        switch self {
        case .phone: nil
        case .activity(let id): id
        }
    }
}

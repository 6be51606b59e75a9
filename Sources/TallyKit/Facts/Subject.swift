/// What a report is about. Of each, at most one report is on its way.
package enum Subject: Hashable, Sendable {
    case phone
    /// What the phone follows. A report of its own: if Tally refuses it, tokens are known all the same.
    case topics
    /// The card of an activity.
    case activity(String)
    /// What the cards show.
    case receipts

    var activity: String? {
        switch self {
        case .phone, .topics, .receipts: nil
        case .activity(let id): id
        }
    }

    /// Whether iOS may send it hours later. Topics have no generation, so a late list would undo a newer one. Receipts have
    /// ages, which would be wrong.
    package var mayComeLate: Bool {
        switch self {
        case .phone, .activity: true
        case .topics, .receipts: false
        }
    }
}

/// The lists that are read page by page. A cursor names its list, so that no other list takes it for one of its own.
package enum PagedList: String, Sendable, CaseIterable {
    case activities, apps, audience, audit, cards, channels, devices, halts, keys, schedules, timeline, topics, types
    case versions, webhooks
    /// What is known of a user.
    case export
    case ticketKeys = "ticket_keys"

    /// What its cursors begin with. Cursors of earlier daemons begin with the first column of their list; the slash tells
    /// one from the other.
    var mark: String { "/\(rawValue)" }
}

package import APITypes
package import ActivityModel

/// The caller, as an API key or a ticket identifies it.
package struct Principal: Sendable, Hashable {
    /// The id of the API key, or ``bootstrapKeyID``.
    package let keyID: String
    /// The rights of the key.
    package let scopes: Set<Scope>
    /// The only app that the key sees; nil: all of them.
    package let app: BundleID?

    /// The key id for the key in the daemon's configuration, which is in no table.
    package static let bootstrapKeyID = "bootstrap"

    /// The ticket that limits what the caller may report; nil if the caller has a key.
    package let ticket: TicketGrant?

    package init(keyID: String, scopes: Set<Scope>, app: BundleID?) {
        self.keyID = keyID
        self.scopes = scopes
        self.app = app
        ticket = nil
    }

    /// The bearer of a ticket: no scope, only what the ticket allows.
    package init(ticket: TicketGrant) {
        keyID = "ticket"
        scopes = []
        app = ticket.app
        self.ticket = ticket
    }

    /// Whether the key may do what needs `scope`, in whatever app it sees.
    package func allows(_ scope: Scope) -> Bool {
        scopes.allow(scope)
    }

    /// Whether the key sees this app.
    package func sees(_ bundleID: BundleID) -> Bool {
        app == nil || app == bundleID
    }
}

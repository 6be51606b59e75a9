package import APITypes
package import ActivityModel
package import JSON

/// The HTTP API, called within the daemon. Every page is made of its answers, so a key sees and does in the console
/// what it sees and does over HTTP.
package protocol ConsoleAPI: Sendable {
    /// The owner of a key; nil if it is unknown, revoked, expired, or a ticket.
    ///
    /// - Throws: A `Problem` if that cannot be told now.
    func owner(ofKey secret: String) async throws -> KeyOwner?

    /// The answer of the route, whether it succeeds or fails.
    func answer(to call: ConsoleCall) async -> APIReply
}

/// Whose session it is.
package struct KeyOwner: Sendable, Hashable {
    /// The id of the API key.
    package let keyID: String
    package let scopes: Set<Scope>
    /// The only app that the key sees; nil: all of them.
    package let app: BundleID?

    package init(keyID: String, scopes: Set<Scope>, app: BundleID?) {
        self.keyID = keyID
        self.scopes = scopes
        self.app = app
    }

    func allows(_ scope: Scope) -> Bool { scopes.allow(scope) }
}

/// A request to the API.
package struct ConsoleCall: Sendable {
    package var method: String
    package var path: APIPath
    /// The API key.
    package var secret: String
    package var body: JSONValue?
    package var idempotencyKey: String?
    /// `Accept`; nil: JSON.
    package var accept: String?
    package var lastEventID: String?
}

/// An answer of the API.
package struct APIReply: Sendable {
    package var status: Int
    package var body: [UInt8]

    package init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }

    /// The body as JSON.
    ///
    /// - Throws: The `Problem` that the API answered.
    func json() throws -> JSONValue {
        if status == 204 { return .null }
        let value = try JSONValue.parse(body)
        guard (200..<300).contains(status) else { throw try Problem(json: value) }
        return value
    }
}

/// The parsed `authorization` header of a request.
package enum Credential: Sendable, Hashable {
    case missing
    /// Not `bearer <jwt>`, or a token whose header or claims do not have Apple's form.
    case malformed
    case token(ReceivedProviderToken)
}

/// A provider token in the right form.
package struct ReceivedProviderToken: Sendable, Hashable {
    /// The result of the signature check.
    package enum Signature: Sendable, Hashable {
        /// The key is not registered with the simulator, so the signature is unchecked.
        case unchecked
        case valid
        case invalid
    }

    /// `kid` in the JWT header: the key's id, ten characters.
    package var keyID: String
    /// The claim `iss`: the team's id, ten characters.
    package var teamID: String
    /// The claim `iat` in whole UNIX seconds.
    package var issuedAt: Int64
    /// How `iat` differs from the form on Apple's page; nil if it does not.
    package var looseForm: LooseIssuedAt?
    package var signature: Signature
    /// The permissions of the key, if it is registered.
    package var key: KeyScope?
}

/// A form of the claim `iat` that existing client libraries send to Apple. Apple's page requires a number of seconds
/// and does not explain other forms. The simulator accepts them with a warning.
package enum LooseIssuedAt: String, Sendable, CaseIterable {
    /// RFC 7519 §2 allows a fraction.
    case fraction = "iat has a fraction"
    case text = "iat is a text"
}

/// The permissions of a registered key.
package struct KeyScope: Sendable, Hashable {
    /// The team that owns the key.
    package var teamID: String
    /// The only environment of the key, as raw text; nil: both, as for all keys created before 2025.
    package var environment: String?
    /// The bundle ids that the key may be used for; nil: all of the team.
    package var bundleIDs: Set<String>?
}

/// What Apple remembers about one connection.
package struct ConnectionMemory: Sendable, Hashable {
    /// The key of the first accepted request. A connection uses only one key.
    package var keyID: String?
    /// The team of that request. The connection is bound to it.
    package var teamID: String?
    /// The last accepted credential. `authorizationSince` is when this connection first had it, in UNIX seconds.
    package var authorization: String?
    package var authorizationSince: Int64 = 0
    var errors = ErrorScore()

    package init() {}

    /// Remembers a credential that the rules accepted.
    package mutating func noteAccepted(authorization: String, token: ReceivedProviderToken, at seconds: Int64) {
        guard self.authorization != authorization else { return }
        self.authorization = authorization
        authorizationSince = seconds
        keyID = keyID ?? token.keyID
        teamID = teamID ?? token.teamID
    }
}

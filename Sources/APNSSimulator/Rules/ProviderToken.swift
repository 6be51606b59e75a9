/// What the `authorization` header of a request turned out to be.
package enum Credential: Sendable, Hashable {
    case missing
    /// Not `bearer <jwt>`, or a token whose header or claims do not have Apple's shape.
    case malformed
    case token(ProviderToken)
}

/// A provider token whose shape is right.
package struct ProviderToken: Sendable, Hashable {
    /// What checking the signature gave.
    package enum Signature: Sendable, Hashable {
        /// The key is not registered with the simulator, so nothing was checked.
        case unchecked
        case valid
        case invalid
    }

    /// Claim `kid` of the header: the key's id, ten characters.
    package var keyID: String
    /// Claim `iss`: the team's id, ten characters.
    package var teamID: String
    /// Claim `iat` in whole UNIX seconds.
    package var issuedAt: Int64
    /// How `iat` was written, where that is not as Apple's page has it.
    package var looseForm: LooseIssuedAt?
    package var signature: Signature
    /// What is known of the key, if it is registered.
    package var key: KeyScope?

    package init(
        keyID: String,
        teamID: String,
        issuedAt: Int64,
        looseForm: LooseIssuedAt? = nil,
        signature: Signature,
        key: KeyScope? = nil
    ) {
        self.keyID = keyID
        self.teamID = teamID
        self.issuedAt = issuedAt
        self.looseForm = looseForm
        self.signature = signature
        self.key = key
    }
}

/// A form of the claim `iat` that client libraries in use send to Apple. Apple's page asks for a number of seconds and
/// does not say what becomes of others; the simulator takes them with a warning.
package enum LooseIssuedAt: String, Sendable, CaseIterable {
    /// RFC 7519 §2 lets a time have one.
    case fraction = "iat has a fraction"
    case text = "iat is a text"
}

/// What a registered key may do.
package struct KeyScope: Sendable, Hashable {
    /// The team that owns the key.
    package var teamID: String
    /// The only environment that the key is for, as raw text; nil: both, as all keys made before 2025.
    package var environment: String?
    /// The bundle ids that the key may speak for; nil: every one of the team.
    package var bundleIDs: Set<String>?

    package init(teamID: String, environment: String? = nil, bundleIDs: Set<String>? = nil) {
        self.teamID = teamID
        self.environment = environment
        self.bundleIDs = bundleIDs
    }
}

/// What Apple remembers of one connection.
package struct ConnectionMemory: Sendable, Hashable {
    /// The key of the first request that was let in. One connection speaks for one key.
    package var keyID: String?
    /// The team of that request, to which the connection is bound.
    package var teamID: String?
    /// The credential last let in, and when it was first seen here (UNIX seconds).
    package var authorization: String?
    package var authorizationSince: Int64 = 0
    var errors = ErrorScore()

    package init() {}

    /// Takes note of a credential that the rules let pass.
    package mutating func noteAccepted(authorization: String, token: ProviderToken, at seconds: Int64) {
        guard self.authorization != authorization else { return }
        self.authorization = authorization
        authorizationSince = seconds
        keyID = keyID ?? token.keyID
        teamID = teamID ?? token.teamID
    }
}

import ActivityModel

extension Rules {
    /// A provider token is valid for one hour before and after its time, so a clock that runs fast is also refused.
    private static let lifetime: Int64 = 3600
    /// The minimum time between new provider tokens on a connection.
    private static let refreshInterval: Int64 = 20 * 60

    /// Rules for the provider token, at every endpoint.
    static let credential = [
        Rule("A header field came twice", 400, "DuplicateHeaders", .responses) { $0.headers.hasDuplicates },
        Rule("There is no authorization header", 403, "MissingProviderToken", .responses) { $0.credential == .missing },
        Rule(
            "The provider token is no ES256 JWT with kid, iss and an iat in seconds",
            403,
            "InvalidProviderToken",
            .tokenConnection
        ) {
            $0.credential == .malformed
        },
        Rule("The team does not own the key", 403, "InvalidProviderToken", .responses) {
            guard let token = $0.providerToken, let key = token.key else { return false }
            return key.teamID != token.teamID
        },
        Rule("The signature is not the key's", 403, "InvalidProviderToken", .responses) {
            $0.providerToken?.signature == .invalid
        },
        Rule("iat is not within one hour of now", 403, "ExpiredProviderToken", .tokenConnection) {
            guard let token = $0.providerToken else { return false }
            return token.issuedAt < $0.now - lifetime || token.issuedAt > $0.now + lifetime
        },
        Rule(
            "The key is for the other environment",
            403,
            "BadEnvironmentKeyInToken",
            .recorded,
            documented: APNSRefusal(status: 403, reason: "BadEnvironmentKeyIdInToken")
        ) {
            guard let environment = $0.providerToken?.key?.environment else { return false }
            return environment != $0.request.environment.rawValue
        },
    ]

    /// Rules that depend on earlier requests of the connection. Only the device API reports an unrelated key.
    static let connection = [
        Rule("The key is not the connection's first key", 403, "UnrelatedKeyIdInToken", .responses) {
            guard let first = $0.connection.keyID, let token = $0.providerToken else { return false }
            return first != token.keyID
        }
    ]

    static let refresh = [
        // Apple says that this is an error, but not which one.
        Rule("The team is not the one that the connection is bound to", 403, "InvalidProviderToken", .connection) {
            guard let first = $0.connection.teamID, let token = $0.providerToken else { return false }
            return first != token.teamID
        },
        Rule("The provider token changed within 20 minutes", 429, "TooManyProviderTokenUpdates", .tokenConnection) {
            guard let last = $0.connection.authorization else { return false }
            return last != $0.headers.authorization && $0.now < $0.connection.authorizationSince + refreshInterval
        },
    ]
}

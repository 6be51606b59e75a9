package import ActivityModel
import JSON

/// `POST /v1/api-keys`: creates an API key.
package struct APIKeyRequest: Sendable, Hashable {
    /// A name for people, 1 to 128 characters.
    package var name: String
    /// At least one, in the order of `Scope.allCases`, without duplicates.
    package var scopes: [Scope]
    /// The only app that the key can access; nil: all apps.
    package var bundleID: BundleID?
    package var expiresAt: Instant?

    package init(name: String, scopes: [Scope], bundleID: BundleID? = nil, expiresAt: Instant? = nil) {
        self.name = name
        self.scopes = Scope.allCases.filter(scopes.contains)
        self.bundleID = bundleID
        self.expiresAt = expiresAt
    }
}

extension APIKeyRequest: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .required("name", \.name, .string(length: 1...128)),
        .required("scopes", \.scopes, .list(of: .word(Scope.self))),
        .optional("bundle_id", \.bundleID, .bundleID),
        .optional("expires_at", \.expiresAt, .time),
        rule: { reader in
            guard reader.object["scopes"]?.array?.isEmpty == true else { return }
            reader.refuse("scopes", code: FieldError.outOfRange, message: "At least one scope is expected.")
        },
        make: Self.init
    )
}

/// An API key as answers show it.
package struct APIKeyResource: Sendable, Hashable {
    /// A UUID.
    package var id: String
    package var name: String
    package var scopes: [Scope]
    package var bundleID: BundleID?
    package var createdAt: Instant
    package var expiresAt: Instant?
    package var lastUsedAt: Instant?
    package var revokedAt: Instant?
    /// The secret to send after `Bearer`. Only the answer to the key's creation has it, because only its hash is
    /// stored.
    package var secret: String?

    package init(
        id: String,
        name: String,
        scopes: [Scope],
        bundleID: BundleID? = nil,
        createdAt: Instant,
        expiresAt: Instant? = nil,
        lastUsedAt: Instant? = nil,
        revokedAt: Instant? = nil,
        secret: String? = nil
    ) {
        self.id = id
        self.name = name
        self.scopes = scopes
        self.bundleID = bundleID
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.lastUsedAt = lastUsedAt
        self.revokedAt = revokedAt
        self.secret = secret
    }
}

extension APIKeyResource: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("id", \.id, .string),
        .required("name", \.name, .string),
        .required("scopes", \.scopes, .list(of: .word(Scope.self))),
        .optional("bundle_id", \.bundleID, .bundleID),
        .required("created_at", \.createdAt, .time),
        .optional("expires_at", \.expiresAt, .time),
        .optional("last_used_at", \.lastUsedAt, .time),
        .optional("revoked_at", \.revokedAt, .time),
        .optional("secret", \.secret, .string),
        make: Self.init
    )
}

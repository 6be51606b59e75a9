package import ActivityModel
import JSON

/// `POST /v1/api-keys`: creates an API key.
package struct APIKeyRequest: Sendable, Hashable {
    /// A name for people, 1 to 128 characters.
    package var name: String
    /// At least one, without duplicates.
    package var scopes: [Scope]
    /// The only app that the key can access; nil: all apps.
    package var bundleID: BundleID?
    package var expiresAt: Instant?

    package init(name: String, scopes: [Scope], bundleID: BundleID? = nil, expiresAt: Instant? = nil) {
        self.name = name
        self.scopes = scopes
        self.bundleID = bundleID
        self.expiresAt = expiresAt
    }
}

extension APIKeyRequest: APIRequest, APIObject {
    package static let fields = FieldTable({ (name: String, scopes: [Scope]) in
        // In the order of `Scope.allCases`, without duplicates.
        Self(name: name, scopes: Scope.allCases.filter(scopes.contains))
    }) {
        required("name", .string(length: 1...128), \.name)
        required(
            "scopes",
            .list(of: .word(Scope.self)).limited("At least one scope is expected.") { !$0.isEmpty },
            \.scopes
        )
        optional("bundle_id", .bundleID, \.bundleID)
        optional("expires_at", .time, \.expiresAt)
    }
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

extension APIKeyResource: APIAnswer, APIObject {
    package static let fields = FieldTable({ Self(id: $0, name: $1, scopes: $2, createdAt: $3) }) {
        required("id", .string, \.id)
        required("name", .string, \.name)
        required("scopes", .list(of: .word(Scope.self)), \.scopes)
        optional("bundle_id", .bundleID, \.bundleID)
        required("created_at", .time, \.createdAt)
        optional("expires_at", .time, \.expiresAt)
        optional("last_used_at", .time, \.lastUsedAt)
        optional("revoked_at", .time, \.revokedAt)
        optional("secret", .string, \.secret)
    }
}

package import ActivityModel
package import JSON

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

extension APIKeyRequest: APIRequest {
    package init?(reader: inout ObjectReader) {
        let name = reader.required("name", .string(length: 1...128))
        let scopes = reader.required("scopes", .list(of: .word(Scope.self)))
        if let scopes, scopes.isEmpty {
            reader.refuse("scopes", code: FieldError.outOfRange, message: "At least one scope is expected.")
        }
        let bundleID = reader.optional("bundle_id", .bundleID)
        let expiresAt = reader.optional("expires_at", .time)
        guard reader.finish(), let name, let scopes else { return nil }
        // In the order of `Scope.allCases`, without duplicates.
        let named = Scope.allCases.filter(scopes.contains)
        self.init(name: name, scopes: named, bundleID: bundleID, expiresAt: expiresAt)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("name", name)
        fields.add("scopes", words: scopes.map(\.rawValue))
        fields.add("bundle_id", bundleID?.rawValue)
        fields.add("expires_at", expiresAt)
        return fields.json
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

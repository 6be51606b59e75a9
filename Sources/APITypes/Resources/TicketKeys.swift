package import JSON

/// How a backend signs tickets: the `alg` of a JWT.
package enum TicketAlgorithm: String, Sendable, Hashable, CaseIterable {
    /// A private key signs, and Tally keeps only the public one.
    case es256 = "ES256"
    /// Tally and the backend share a secret.
    case hs256 = "HS256"
}

/// `POST …/ticket-keys`: makes a key with which a backend signs tickets.
package struct TicketKeyRequest: Sendable, Hashable {
    /// The longest life of a signed ticket, in seconds: 90 days.
    package static let maximumTicketSeconds: Int64 = 90 * 86_400

    package var algorithm: TicketAlgorithm

    package init(algorithm: TicketAlgorithm) {
        self.algorithm = algorithm
    }
}

extension TicketKeyRequest: APIRequest {
    package init?(reader: inout ObjectReader) {
        let algorithm = reader.required("algorithm", .word(TicketAlgorithm.self))
        guard reader.finish(), let algorithm else { return nil }
        self.init(algorithm: algorithm)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("algorithm", algorithm.rawValue)
        return fields.json
    }
}

/// A ticket key as answers show it.
package struct TicketKeyResource: Sendable, Hashable {
    /// A UUID: the `kid` of the tickets.
    package var id: String
    package var algorithm: TicketAlgorithm
    package var createdAt: Instant
    /// From then on its tickets are refused. It may lie in the future.
    package var revokedAt: Instant?
    /// What the backend signs with: the secret of HS256, or the private key of ES256 as PEM. Only the answer to the
    /// key's creation has it.
    package var secret: String?

    package init(
        id: String,
        algorithm: TicketAlgorithm,
        createdAt: Instant,
        revokedAt: Instant? = nil,
        secret: String? = nil
    ) {
        self.id = id
        self.algorithm = algorithm
        self.createdAt = createdAt
        self.revokedAt = revokedAt
        self.secret = secret
    }
}

extension TicketKeyResource: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let id = reader.required("id", .string)
        let algorithm = reader.required("algorithm", .word(TicketAlgorithm.self))
        let createdAt = reader.required("created_at", .time)
        let revokedAt = reader.optional("revoked_at", .time)
        let secret = reader.optional("secret", .string)
        guard reader.finish(), let id, let algorithm, let createdAt else { return nil }
        self.init(id: id, algorithm: algorithm, createdAt: createdAt, revokedAt: revokedAt, secret: secret)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("id", id)
        fields.add("algorithm", algorithm.rawValue)
        fields.add("created_at", createdAt)
        fields.add("revoked_at", revokedAt)
        fields.add("secret", secret)
        return fields.json
    }
}

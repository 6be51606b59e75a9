import JSON

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

extension TicketKeyRequest: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .required("algorithm", \.algorithm, .word(TicketAlgorithm.self)),
        make: Self.init
    )
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

extension TicketKeyResource: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("id", \.id, .string),
        .required("algorithm", \.algorithm, .word(TicketAlgorithm.self)),
        .required("created_at", \.createdAt, .time),
        .optional("revoked_at", \.revokedAt, .time),
        .optional("secret", \.secret, .string),
        make: Self.init
    )
}

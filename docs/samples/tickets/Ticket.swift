// Signs tickets with JWTKit 5 (github.com/vapor/jwt-kit).

import Foundation
import JWTKit

struct Ticket: JWTPayload {
    var audience: AudienceClaim
    var issuedAt: IssuedAtClaim
    var expiration: ExpirationClaim
    var subject: SubjectClaim?
    var environment = "production"
    var device: String
    /// Check before that the user may see each. Nil: those of the device and the user.
    var activities: [String]?

    enum CodingKeys: String, CodingKey {
        case audience = "aud"
        case issuedAt = "iat"
        case expiration = "exp"
        case subject = "sub"
        case environment
        case device = "device_id"
        case activities
    }

    init(app: String, device: String, user: String?, activities: [String]? = nil, days: Double = 30) {
        let now = Date()
        audience = AudienceClaim(value: app)
        issuedAt = IssuedAtClaim(value: now)
        expiration = ExpirationClaim(value: now.addingTimeInterval(days * 86_400))
        subject = user.map { SubjectClaim(value: $0) }
        self.device = device
        self.activities = activities
    }

    /// Tally verifies tickets; the backend only signs them.
    func verify(using _: some JWTAlgorithm) {}
}

struct TicketSigner {
    private let keys = JWTKeyCollection()
    private let keyID: JWKIdentifier

    /// `privateKey`: the secret of a key for ES256.
    init(keyID: String, privateKey: String) async throws {
        self.keyID = JWKIdentifier(string: keyID)
        await keys.add(ecdsa: try ES256PrivateKey(pem: privateKey), kid: self.keyID)
    }

    /// `secret`: the secret of a key for HS256.
    init(keyID: String, secret: String) async {
        self.keyID = JWKIdentifier(string: keyID)
        await keys.add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256, kid: self.keyID)
    }

    func sign(_ ticket: Ticket) async throws -> String {
        try await keys.sign(ticket, kid: keyID)
    }
}

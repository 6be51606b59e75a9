import APITypes
import ActivityModel
import Cryptography
import JSON
import Testing

@testable import Registry

/// A JWT as a backend makes it.
func signedText(
    _ claims: JSONObject,
    header: JSONObject,
    sign: ([UInt8]) throws -> [UInt8]
) throws -> String {
    let head = Base64URL.encode(JSONValue.object(header).serialized())
    let message = "\(head).\(Base64URL.encode(JSONValue.object(claims).serialized()))"
    return "\(message).\(Base64URL.encode(try sign(Array(message.utf8))))"
}

@Suite("Tickets that a backend signs itself")
struct SignedTicketTests {
    private static let app = BundleID(stored: "com.example.app")
    private static let now: Int64 = 1_800_000_000
    private static let secret = [UInt8](repeating: 7, count: 32)
    private static let claims: JSONObject = [
        "aud": "com.example.app", "iat": 1_800_000_000, "exp": 1_800_003_600, "sub": "fan", "device_id": "phone",
        "environment": "production", "activities": ["final"],
        "topics": ["team:*"],
    ]

    private static func text(
        _ claims: JSONObject,
        header: JSONObject = ["alg": "HS256", "kid": "k1"],
        sign: ([UInt8]) throws -> [UInt8] = { HMACSHA256.authenticationCode(for: $0, key: secret) }
    ) throws -> String {
        try signedText(claims, header: header, sign: sign)
    }

    private func reason(_ text: String, by key: TicketKey = .hs256(secret: secret)) -> String? {
        do throws(Problem) {
            try SignedTicket(text).verified(by: key, of: Self.app).check(at: Self.now, revokedBefore: nil)
            return nil
        } catch {
            #expect(error.status == 401)
            return error.detail
        }
    }

    @Test("A ticket of the app's secret allows what its claims say")
    func secret() throws {
        let signed = try SignedTicket(Self.text(Self.claims))
        #expect(signed.keyID == "k1")
        #expect(
            try signed.verified(by: .hs256(secret: Self.secret), of: Self.app).allowed
                == TicketGrant(
                    app: Self.app,
                    environment: .production,
                    device: DeviceID(stored: "phone"),
                    user: UserID(stored: "fan"),
                    activities: [ActivityID(stored: "final")],
                    topics: [TopicPattern(stored: "team:*")],
                    expiresAt: 1_800_003_600,
                    issuedAt: 1_800_000_000
                )
        )
    }

    @Test("A ticket of a private key is verified with the public one, and with no other")
    func publicKey() throws {
        let key = try P256PrivateKey.generate()
        let text = try Self.text(Self.claims, header: ["alg": "ES256", "kid": "k2"]) { try key.signature(for: $0) }
        #expect(reason(text, by: .es256(key.publicKey)) == nil)
        let other = try P256PrivateKey.generate()
        #expect(reason(text, by: .es256(other.publicKey))?.contains("the signature is not valid") == true)
    }

    @Test("An HMAC under the public key is not a signature of it")
    func confusedAlgorithm() throws {
        let key = try P256PrivateKey.generate().publicKey
        let pem = Array(try key.pem().utf8)
        let forged = try Self.text(Self.claims) { HMACSHA256.authenticationCode(for: $0, key: pem) }
        #expect(reason(forged, by: .es256(key))?.contains("signs with ES256") == true)
    }

    @Test(
        "A claim that is wrong or missing is 401 with the reason",
        arguments: [
            ("aud", "com.example.other", "'aud'"), ("aud", nil, "'aud'"), ("aud", ["com.example.other"], "'aud'"),
            ("exp", 1_800_000_000, "expired"), ("exp", nil, "'exp'"), ("exp", 1_900_000_000, "90 days"),
            ("iat", nil, "'iat'"), ("iat", 1_800_000_061, "future"), ("nbf", 1_800_000_061, "'nbf'"),
            ("iat", .number(JSONNumber(Int64.min)), "90 days"), ("nbf", "soon", "'nbf'"),
            ("sub", 5, "'sub'"), ("device_id", nil, "'device_id'"), ("environment", "test", "'environment'"),
            ("topics", ["team:*", 1], "'topics'"), ("topics", "team:*", "'topics'"),
            ("activities", ["final", 1], "'activities'"), ("activities", "final", "'activities'"),
        ] as [(String, JSONValue?, String)]
    )
    func wrongClaim(name: String, value: JSONValue?, word: String) throws {
        var claims = Self.claims
        claims[name] = value
        let text = try Self.text(claims)
        let given = reason(text)
        #expect(given?.contains(word) == true, "\(given ?? "accepted")")
    }

    @Test(
        "A header that names no algorithm or key of Tally's is 401 with the reason",
        arguments: [
            (["alg": "none", "kid": "k1"], "'alg'"), (["alg": "None", "kid": "k1"], "'alg'"),
            (["alg": "RS256", "kid": "k1"], "'alg'"), (["kid": "k1"], "'alg'"), (["alg": "HS256"], "'kid'"),
            (["alg": "HS256", "kid": "k1", "crit": ["exp"]], "'crit'"),
        ] as [(JSONObject, String)]
    )
    func wrongHeader(header: JSONObject, word: String) throws {
        let text = try Self.text(Self.claims, header: header)
        #expect(reason(text)?.contains(word) == true)
    }

    @Test(
        "A text that is not three parts of base64url and JSON is 401",
        arguments: ["", "a.b", "..", "a.b.c", "e30.e30"]
    )
    func noTicket(text: String) {
        #expect(reason(text)?.contains("not a JWT") == true)
    }

    @Test("A ticket that was made before a revocation is 401, and one of that second or later is not")
    func revoked() throws {
        let ticket = try SignedTicket(Self.text(Self.claims)).verified(by: .hs256(secret: Self.secret), of: Self.app)
        try ticket.check(at: Self.now, revokedBefore: Instant(unixSeconds: Self.now))
        let refusal = #expect(throws: Problem.self) {
            try ticket.check(at: Self.now, revokedBefore: Instant(microseconds: Self.now * 1_000_000 + 1))
        }
        #expect(refusal?.status == 401)
        #expect(refusal?.detail.contains("revoked") == true)
    }

    @Test("An audience may be a list, and a clock one minute ahead is accepted")
    func accepted() throws {
        var claims = Self.claims
        claims["aud"] = ["com.example.other", "com.example.app"]
        claims["iat"] = 1_800_000_060
        claims["nbf"] = 1_800_000_060
        claims["sub"] = nil
        claims["activities"] = nil
        let text = try Self.text(claims)
        #expect(reason(text) == nil)
    }

    @Test("A time may have a fraction of a second, which does not count")
    func fraction() throws {
        var claims = Self.claims
        claims["iat"] = 1_800_000_000.75
        claims["exp"] = 1_800_000_001.25
        let text = try Self.text(claims)
        #expect(reason(text) == nil)
        let verified = try SignedTicket(text).verified(by: .hs256(secret: Self.secret), of: Self.app)
        #expect(verified.issuedAt == 1_800_000_000)
        #expect(verified.allowed.expiresAt == 1_800_000_001)
    }
}

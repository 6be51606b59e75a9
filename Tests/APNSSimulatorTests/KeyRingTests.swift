import Cryptography
import JSON
import Testing

@testable import APNSSimulator

@Suite("Provider tokens")
struct KeyRingTests {
    /// Header and claims that are right.
    static let header: JSONValue = ["alg": "ES256", "kid": "KEY1234567"]
    static let claims: JSONValue = ["iss": "TEAM123456", "iat": 1_800_000_000]

    static func jwt(
        _ header: JSONValue = header,
        _ claims: JSONValue = claims,
        key: P256PrivateKey? = nil
    ) throws -> String {
        let text = [header, claims].map { Base64URL.encode($0.serialized()) }.joined(separator: ".")
        let signature = try key?.signature(for: Array(text.utf8)) ?? [UInt8](repeating: 1, count: 64)
        return "bearer \(text).\(Base64URL.encode(signature))"
    }

    @Test("a token of the right shape is read; without a registered key nobody checks the signature")
    func shape() throws {
        let token = ReceivedProviderToken(
            keyID: "KEY1234567",
            teamID: "TEAM123456",
            issuedAt: 1_800_000_000,
            signature: .unchecked
        )
        let ring = KeyRing(refusesUnknownKeys: false)
        #expect(ring.credential(try Self.jwt()) == .token(token))
        #expect(ring.credential(nil) == .missing)
    }

    @Test("a token of another shape is malformed", arguments: malformedTokens)
    func malformed(_ text: String) {
        #expect(KeyRing(refusesUnknownKeys: false).credential(text) == .malformed)
    }

    @Test(
        "a token whose iat is written as libraries in use write it is taken, and told once",
        arguments: [
            ("1800000000.75", LooseIssuedAt.fraction), (#""1800000000""#, .text), (#""1800000000.5""#, .text),
            ("1800000000", nil), ("1.8e9", nil), ("1800000000.0", nil),
        ] as [(String, LooseIssuedAt?)]
    )
    func issuedAt(written: String, form: LooseIssuedAt?) throws {
        let text = try Self.jwt(Self.header, JSONValue.parse(Array(#"{"iss":"TEAM123456","iat":\#(written)}"#.utf8)))
        var ring = KeyRing(refusesUnknownKeys: false)
        #expect(ring.prepare(text) == form)
        #expect(ring.prepare(text) == nil)
        guard case .token(let token) = ring.credential(text) else {
            Issue.record("malformed")
            return
        }
        #expect(token.issuedAt == 1_800_000_000)
        #expect(token.looseForm == form)
    }

    @Test("a registered key's signature is checked, whatever was seen before")
    func signature() throws {
        let key = try P256PrivateKey.generate()
        let signed = try Self.jwt(key: key)
        let forged = try Self.jwt(key: try P256PrivateKey.generate())
        var ring = KeyRing(refusesUnknownKeys: false)
        #expect(ring.prepare(signed) == nil)
        #expect(ring.prepare(forged) == nil)
        #expect(signatures(of: [signed, forged], by: ring) == [.unchecked, .unchecked])
        ring.register(keyID: "KEY1234567", publicKey: key.publicKey, scope: KeyScope(teamID: "TEAM123456"))
        #expect(signatures(of: [signed, forged], by: ring) == [.valid, .invalid])
    }

    @Test("a revoked key is refused also by a ring that believes unknown ones, until it is registered again")
    func revoked() throws {
        let key = try P256PrivateKey.generate()
        let signed = try Self.jwt(key: key)
        var ring = KeyRing(refusesUnknownKeys: false)
        ring.register(keyID: "KEY1234567", publicKey: key.publicKey, scope: KeyScope(teamID: "TEAM123456"))
        ring.revoke(keyID: "KEY1234567")
        #expect(signatures(of: [signed], by: ring) == [.invalid])
        ring.register(keyID: "KEY1234567", publicKey: key.publicKey, scope: KeyScope(teamID: "TEAM123456"))
        #expect(signatures(of: [signed], by: ring) == [.valid])
    }

    @Test("a strict ring refuses keys that it does not know, and revoked ones")
    func strict() throws {
        let key = try P256PrivateKey.generate()
        let signed = try Self.jwt(key: key)
        var ring = KeyRing(refusesUnknownKeys: true)
        #expect(signatures(of: [signed], by: ring) == [.invalid])
        ring.register(keyID: "KEY1234567", publicKey: key.publicKey, scope: KeyScope(teamID: "TEAM123456"))
        #expect(signatures(of: [signed], by: ring) == [.valid])
        ring.revoke(keyID: "KEY1234567")
        #expect(signatures(of: [signed], by: ring) == [.invalid])
    }

    private func signatures(of texts: [String], by ring: KeyRing) -> [ReceivedProviderToken.Signature?] {
        texts.map { text in
            guard case .token(let token) = ring.credential(text) else { return nil }
            return token.signature
        }
    }
}

private let malformedTokens: [String] = {
    let part = Base64URL.encode(KeyRingTests.header.serialized())
    let claims: [JSONValue] = [
        ["iss": "TEAM123456", "iat": "now"], ["iss": "TEAM123456", "iat": ""], ["iss": "TEAM123456", "iat": true],
        ["iss": "TEAM123456", "iat": "1e400"], ["iss": "TEAM123456"], ["iat": 1_800_000_000],
        ["iss": "TEAM", "iat": 1_800_000_000],
    ]
    let headers: [JSONValue] = [
        ["alg": "ES256"], ["alg": "HS256", "kid": "KEY1234567"], ["alg": "ES256", "kid": "KEY"],
    ]
    // Making one fails only where OpenSSL does, and then the list is too short for the count below.
    let made =
        claims.compactMap { try? KeyRingTests.jwt(KeyRingTests.header, $0) }
        + headers.compactMap { try? KeyRingTests.jwt($0) }
    return made + [
        "", "bearer", "bearer ", "Basic \(part).\(part).AAAA", "bearer \(part)", "bearer a.b.c", "bearer \(part).!.AA",
    ]
}()

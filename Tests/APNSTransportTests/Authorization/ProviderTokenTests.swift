import APNSTransport
import ActivityModel
import Cryptography
import JSON
import Testing

@Suite("Provider tokens")
struct ProviderTokenTests {
    private let identity: SigningIdentity
    private let start: Timestamp = 1_763_700_000
    private let minute: Timestamp = 60

    init() throws {
        identity = try testIdentity()
    }

    @Test("a token is the JSON Web Token that Apple describes")
    func form() throws {
        let token = try ProviderToken.sign(identity, at: start)
        let parts = token.text.split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        let header = String(decoding: try #require(Base64URL.decode(parts[0])), as: UTF8.self)
        let claims = String(decoding: try #require(Base64URL.decode(parts[1])), as: UTF8.self)
        #expect(header == #"{"alg":"ES256","kid":"ABC123DEFG"}"#)
        #expect(claims == #"{"iss":"TEAM123456","iat":1763700000}"#)
        #expect(try JSONValue(parsing: claims)["iat"]?.int64 == start)
        let signature = try #require(Base64URL.decode(parts[2]))
        #expect(signature.count == 64)
        let signed = Array("\(parts[0]).\(parts[1])".utf8)
        #expect(identity.privateKey.publicKey.isValidSignature(signature, for: signed))
        #expect(token.authorization == "bearer \(token.text)")
    }

    @Test("a token is kept for 50 minutes and then replaced")
    func refresh() throws {
        var issuer = ProviderTokenIssuer(identity: identity)
        let first = try issuer.token(now: start)
        #expect(try issuer.token(now: start) == first)
        #expect(try issuer.token(now: start + 50 * minute - 1) == first)
        let second = try issuer.token(now: start + 50 * minute)
        #expect(second.issuedAt == start + 50 * minute)
        #expect(second != first)
    }

    @Test(
        "a token that Apple calls expired is replaced once it is 20 minutes old, not before",
        arguments: [(0, false), (1, false), (19, false), (20, true), (35, true), (70, true)] as [(Timestamp, Bool)]
    )
    func expired(age: Timestamp, replaced: Bool) throws {
        var issuer = ProviderTokenIssuer(identity: identity)
        let first = try issuer.token(now: start)
        let now = start + age * minute
        #expect(try issuer.tokenExpired(now: now) == replaced)
        #expect((issuer.current != first) == replaced)
    }

    @Test("two tokens are never less than 20 minutes apart, whatever Apple says in between")
    func neverTooOften() throws {
        var issuer = ProviderTokenIssuer(identity: identity)
        var issued: [Timestamp] = []
        for second in stride(from: Timestamp(0), to: 6 * 60 * minute, by: 10) {
            let token = try issuer.token(now: start + second)
            if issued.last != token.issuedAt { issued.append(token.issuedAt) }
            switch second % 70 {
            case 0: _ = try issuer.tokenExpired(now: start + second)
            case 30: issuer.tooManyTokens(now: start + second)
            default: break
            }
            #expect(start + second - token.issuedAt < 60 * minute)
        }
        #expect(zip(issued, issued.dropFirst()).allSatisfy { $1 - $0 >= 20 * minute })
        #expect(issued.count > 4)
    }

    @Test("a complaint about too many tokens keeps the present one, but not beyond its hour")
    func tooMany() throws {
        var issuer = ProviderTokenIssuer(identity: identity)
        let first = try issuer.token(now: start)
        issuer.tooManyTokens(now: start + 45 * minute)
        #expect(try issuer.tokenExpired(now: start + 46 * minute) == false)
        #expect(try issuer.token(now: start + 55 * minute) == first)
        #expect(try issuer.token(now: start + 60 * minute) != first)
    }

    @Test("a clock that was set back keeps the token within the hour that Apple allows")
    func clockSetBack() throws {
        var issuer = ProviderTokenIssuer(identity: identity)
        let first = try issuer.token(now: start)
        #expect(try issuer.token(now: start - 30 * minute) == first)
        #expect(try issuer.token(now: start - 50 * minute) != first)
    }

    @Test("a token shows nothing of itself")
    func masked() throws {
        let token = try ProviderToken.sign(identity, at: start)
        var dumped = ""
        dump(token, to: &dumped)
        let words = "\(token) \(dumped) \(identity)"
        #expect(!words.contains(token.text))
        #expect(!words.contains(try identity.privateKey.pem()))
        #expect("\(identity)" == "team TEAM123456 key ABC123DEFG")
    }

    @Test("identities differ by key, even under one key id")
    func identities() throws {
        let again = SigningIdentity(teamID: identity.teamID, keyID: identity.keyID, privateKey: identity.privateKey)
        #expect(again == identity)
        #expect(again.hashValue == identity.hashValue)
        #expect(try testIdentity(key: P256PrivateKey.generate()) != identity)
    }
}

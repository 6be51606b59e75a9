import APNSTransport
import ActivityModel
import BenchSupport
import Cryptography

/// What all pushes of a measurement have in common; `h2load` and the others are given the same bytes.
struct Measurement: Sendable {
    static let tokenBytes = 80

    let identity: SigningIdentity
    let headers: PushHeaders
    let body: [UInt8]

    init(bodyBytes: Int) throws {
        guard let teamID = TeamID("ABCDE12345"), let keyID = KeyID("FGHIJ67890"),
            let bundleID = BundleID("com.example.matchday")
        else { throw Mistake("the identifiers of the measurement are not accepted") }
        identity = SigningIdentity(teamID: teamID, keyID: keyID, privateKey: try P256PrivateKey.generate())
        headers = PushHeaders(bundleID: bundleID, priority: .five, expiration: 1_763_728_800)
        body = Self.body(bodyBytes)
    }

    /// An update of a match, filled up to `count` bytes.
    private static func body(_ count: Int) -> [UInt8] {
        let start =
            #"{"aps":{"timestamp":1763700000,"event":"update","stale-date":1763700900,"content-state":{"home_score":3,"#
            + #""away_score":3,"clock":7083,"period":"penalties","last_event":""#
        let end = #""}}}"#
        let filling = String(repeating: "Mbappe scores. ", count: max(0, count - start.utf8.count - end.utf8.count))
        let room = max(0, count - start.utf8.count - end.utf8.count)
        return Array((start + filling.prefix(room) + end).utf8)
    }

    func batch(environment: APNSEnvironment = .production, tokens: TokenBuffer) -> PushBatch {
        PushBatch(
            environment: environment,
            identity: identity,
            headers: headers,
            body: body,
            tokens: tokens,
            deadline: .seconds(120)
        )
    }
}

/// Tokens as the database would hand them out: none comes twice.
struct TokenStream {
    private var state: UInt64
    private var words = [UInt64](repeating: 0, count: Measurement.tokenBytes / 8)

    init(seed: UInt64) {
        state = seed
    }

    mutating func next(_ count: Int) -> TokenBuffer {
        var tokens = TokenBuffer()
        tokens.reserveCapacity(count, bytesPerToken: Measurement.tokenBytes)
        for _ in 0..<count {
            for index in words.indices { words[index] = random() }
            words.withUnsafeBytes { bytes in
                _ = tokens.append(bytes: bytes.bindMemory(to: UInt8.self).span)
            }
        }
        return tokens
    }

    /// SplitMix64, which costs next to nothing.
    private mutating func random() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

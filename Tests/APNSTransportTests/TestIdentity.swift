import APNSTransport
import ActivityModel
import Cryptography
import Testing

/// An identity with a key of its own for the whole test process, or the given one.
func testIdentity(key: P256PrivateKey? = nil) throws -> SigningIdentity {
    SigningIdentity(
        teamID: try #require(TeamID("TEAM123456")),
        keyID: try #require(KeyID("ABC123DEFG")),
        privateKey: try key ?? sharedKey.get()
    )
}

private let sharedKey = Result { try P256PrivateKey.generate() }

import APITypes
import ActivityModel
import Cryptography

/// A key of an app, with which Tally verifies the tickets that the app's backend makes.
enum TicketKey: Sendable, CustomReflectable {
    /// The secret that Tally and the backend share.
    case hs256(secret: [UInt8])
    /// The public half. Only the backend has the private one.
    case es256(P256PublicKey)

    /// Reads ``bytes()``.
    init(_ algorithm: TicketAlgorithm, _ bytes: [UInt8]) throws(CryptographyError) {
        switch algorithm {
        case .hs256: self = .hs256(secret: bytes)
        case .es256: self = .es256(try P256PublicKey(pem: String(decoding: bytes, as: UTF8.self)))
        }
    }

    /// The one value of `alg` that this key signs.
    var algorithm: TicketAlgorithm {
        switch self {
        case .hs256: .hs256
        case .es256: .es256
        }
    }

    /// The bytes that Tally keeps: the secret, or the PEM of the public half.
    func bytes() throws(CryptographyError) -> [UInt8] {
        switch self {
        case .hs256(let secret): secret
        case .es256(let key): Array(try key.pem().utf8)
        }
    }

    func isValid(_ signature: [UInt8], for message: [UInt8]) -> Bool {
        switch self {
        case .hs256(let secret): HMACSHA256.isValid(signature, for: message, key: secret)
        case .es256(let key): key.isValidSignature(signature, for: message)
        }
    }

    /// Shows nothing, because a secret must not reach a log.
    var customMirror: Mirror { Mirror(self, children: []) }
}

extension TicketKey {
    /// A new key, and the text with which the backend signs: its UTF-8 bytes are the secret of HS256, or the PEM of the
    /// private key of ES256.
    static func generate(_ algorithm: TicketAlgorithm) throws(CryptographyError) -> (key: TicketKey, secret: String) {
        switch algorithm {
        case .hs256:
            let secret = "tally_ticketkey_" + Base64URL.encode(SecureRandom.bytes(32))
            return (.hs256(secret: Array(secret.utf8)), secret)
        case .es256:
            let key = try P256PrivateKey.generate()
            return (.es256(key.publicKey), try key.pem())
        }
    }
}

/// A ticket key with its app.
struct AppTicketKey: Sendable {
    let app: BundleID
    let key: TicketKey
}

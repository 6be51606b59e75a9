import Cryptography

/// A key of an app, with which Tally verifies the tickets that the app's backend makes.
enum TicketKey: Sendable, CustomReflectable {
    /// The secret that Tally and the backend share.
    case hs256(secret: [UInt8])
    /// The public half. Only the backend has the private one.
    case es256(P256PublicKey)

    /// The values of `alg` that a ticket may have. `none` is not one of them.
    static let algorithms: Set<String> = ["HS256", "ES256"]

    /// The one value of `alg` that this key signs.
    var algorithm: String {
        switch self {
        case .hs256: "HS256"
        case .es256: "ES256"
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

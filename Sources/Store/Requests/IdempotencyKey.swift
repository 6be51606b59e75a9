import Cryptography

/// An `Idempotency-Key` with everything that its meaning depends on.
///
/// Requests with equal ``scope`` are one request; they differ in ``bodyHash`` only by mistake, which is answered with
/// 409 `idempotency_key_reused`.
package struct IdempotencyKey: Sendable, Hashable {
    /// SHA-256 of API key, method, path and key, with line feeds between them, as the table `idempotency_keys` has it.
    package let scope: [UInt8]
    /// The SHA-256 of the body's bytes.
    package let bodyHash: [UInt8]

    /// - Parameters:
    ///   - apiKeyID: the id of the caller's API key.
    ///   - method: the HTTP method, in capitals.
    ///   - path: the path as it was sent, without its query.
    ///   - key: the caller's text, 1 to 255 bytes. The only one of the four in which a line feed can be.
    ///   - bodyHash: the SHA-256 of the body's bytes.
    package init(apiKeyID: String, method: String, path: String, key: String, bodyHash: [UInt8]) {
        var text: [UInt8] = []
        text.reserveCapacity(512)
        for part in [apiKeyID, method, path] {
            text += part.utf8
            text.append(UInt8(ascii: "\n"))
        }
        text += key.utf8
        scope = SHA256.hash(text)
        self.bodyHash = bodyHash
    }

    /// One that is made when it is wanted: hashing a change is much of what it costs to refuse it, and one that is
    /// refused for want of room needs no key.
    package struct Deferred: Sendable {
        private let make: @Sendable () -> IdempotencyKey

        package init(_ make: @autoclosure @escaping @Sendable () -> IdempotencyKey) {
            self.make = make
        }

        /// The key, made anew each time.
        package var key: IdempotencyKey { make() }
    }

    /// The same key with the hash of another body.
    package func forBody(_ hash: [UInt8]) -> IdempotencyKey { IdempotencyKey(scope: scope, bodyHash: hash) }

    /// A key as it is kept.
    init(scope: [UInt8], bodyHash: [UInt8]) {
        self.scope = scope
        self.bodyHash = bodyHash
    }
}

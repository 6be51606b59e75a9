package import ActivityModel
import Cryptography

/// An `Idempotency-Key` with everything that its meaning depends on.
///
/// Requests with equal ``scope`` are one request; they differ in ``bodyHash`` only by mistake, which is answered with
/// 409 `idempotency_key_reused`.
package struct IdempotencyKey: Sendable, Hashable {
    /// SHA-256 of API key, method, path and key, with line feeds between them, as the table `idempotency_keys` has it.
    package let scope: [UInt8]
    /// The app that the path names. What is kept for a key ends with its app. A new app of the same id does not see it.
    package let app: BundleID
    /// The SHA-256 of the body's bytes.
    package let bodyHash: [UInt8]

    /// - Parameters:
    ///   - apiKeyID: the id of the caller's API key.
    ///   - app: the app that the path names.
    ///   - method: the HTTP method, in capitals.
    ///   - path: the path without its query, as `APIPath` writes it: however a caller spells an id, it is one path.
    ///   - key: the caller's text, 1 to 255 bytes. The only text of the hash in which a line feed can be.
    ///   - bodyHash: the SHA-256 of the body's bytes.
    package init(apiKeyID: String, app: BundleID, method: String, path: String, key: String, bodyHash: [UInt8]) {
        var text: [UInt8] = []
        text.reserveCapacity(512)
        for part in [apiKeyID, method, path] {
            text += part.utf8
            text.append(UInt8(ascii: "\n"))
        }
        text += key.utf8
        scope = SHA256.hash(text)
        self.app = app
        self.bodyHash = bodyHash
    }

    /// A key that is made when it is used. Hashing is a large part of the cost of a refusal, and a change that is
    /// refused because the queue is full needs no key.
    package struct Deferred: Sendable {
        private let make: @Sendable () -> IdempotencyKey

        package init(_ make: @autoclosure @escaping @Sendable () -> IdempotencyKey) {
            self.make = make
        }

        /// The key, made anew each time.
        package var key: IdempotencyKey { make() }
    }

    /// The same key with the hash of another body.
    package func forBody(_ hash: [UInt8]) -> IdempotencyKey {
        IdempotencyKey(scope: scope, app: app, bodyHash: hash)
    }

    /// A key whose hash is known.
    init(scope: [UInt8], app: BundleID, bodyHash: [UInt8]) {
        self.scope = scope
        self.app = app
        self.bodyHash = bodyHash
    }
}

/// An `Idempotency-Key` with everything that its meaning depends on.
///
/// Requests with equal ``apiKeyID``, ``method``, ``path`` and ``key`` are one request; they differ in ``bodyHash`` only by mistake, which is
/// answered with 409 `idempotency_key_reused`.
package struct IdempotencyKey: Sendable, Hashable {
    /// The id of the caller's API key.
    package let apiKeyID: String
    /// The HTTP method, in capitals.
    package let method: String
    /// The path as it was sent, without its query.
    package let path: String
    /// The caller's text, 1 to 255 bytes.
    package let key: String
    /// The SHA-256 of the body's bytes.
    package let bodyHash: [UInt8]

    package init(apiKeyID: String, method: String, path: String, key: String, bodyHash: [UInt8]) {
        self.apiKeyID = apiKeyID
        self.method = method
        self.path = path
        self.key = key
        self.bodyHash = bodyHash
    }
}

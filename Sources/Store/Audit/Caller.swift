/// Who has asked for what is being done, and by which request: an entry of the audit log names both.
///
/// It goes with the task from the API down to ``AuditRows``, which alone reads it. No operation depends on it.
package struct Caller: Sendable {
    /// Nil for what Tally does by itself.
    @TaskLocal static var current: Caller?

    /// The id of the API key, or `bootstrap`.
    package let keyID: String
    /// The `X-Request-Id`.
    package let requestID: String

    package init(keyID: String, requestID: String) {
        self.keyID = keyID
        self.requestID = requestID
    }

    /// Names this caller in all audit entries that `body` makes.
    @discardableResult
    package func acting<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await Self.$current.withValue(self, operation: body)
    }
}

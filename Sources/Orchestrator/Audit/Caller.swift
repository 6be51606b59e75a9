/// Who has asked for what is being done, for the audit log; nil for what Tally does by itself.
///
/// It goes with the task, because it has no say in what is done: it is only put on record, far below where the request
/// came in.
package struct Caller: Sendable {
    @TaskLocal package static var current: Caller?

    /// The id of the API key, or `bootstrap`.
    package let keyID: String
    /// The `X-Request-Id` of the request.
    package let requestID: String

    package init(keyID: String, requestID: String) {
        self.keyID = keyID
        self.requestID = requestID
    }
}

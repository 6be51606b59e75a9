package import ActivityModel

/// The same push to many tokens: one set of header fields, one body.
package struct PushBatch: Sendable {
    package var environment: APNSEnvironment
    package var identity: SigningIdentity
    package var headers: PushHeaders
    /// The body, within ``PushType/sizeLimit``.
    package var body: [UInt8]
    package var tokens: TokenBuffer
    /// The time limit for the answers, from the call on. Pushes that have not left by then are never sent.
    package var deadline: Duration
    /// Whether every push gets a receipt in ``BatchOutcome/receipts``, with its latency. It costs a clock reading and a
    /// row per push, so use it for small batches.
    package var wantsReceipts: Bool

    /// Creates a batch.
    package init(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        headers: PushHeaders,
        body: [UInt8],
        tokens: TokenBuffer,
        deadline: Duration = .seconds(10),
        wantsReceipts: Bool = false
    ) {
        self.environment = environment
        self.identity = identity
        self.headers = headers
        self.body = body
        self.tokens = tokens
        self.deadline = deadline
        self.wantsReceipts = wantsReceipts
    }

    /// The refusal to expect for every push, found without asking Apple; `nil` if no rule is violated.
    package var refusal: PushOutcome? {
        RequestRules.head(.devicePush(headers))
            ?? RequestRules.priority(headers.priority, of: headers.pushType)
            ?? RequestRules.expiration(headers.expiration)
            ?? RequestRules.collapseID(headers.collapseID)
            ?? RequestRules.requestID(headers.requestID, requests: tokens.count)
            ?? RequestRules.body(body.count, headers.pushType.sizeLimit)
    }
}

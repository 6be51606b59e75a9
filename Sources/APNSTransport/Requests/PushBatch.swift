package import ActivityModel

/// The same push to many tokens: one set of header fields, one body.
package struct PushBatch: Sendable {
    package var environment: APNSEnvironment
    package var identity: SigningIdentity
    package var headers: PushHeaders
    /// The body, within ``PushType/sizeLimit``.
    package var body: [UInt8]
    package var tokens: TokenBuffer
    /// When the answer is due at the latest, from the call on. What has not left by then never will.
    package var deadline: Duration
    /// Whether ``BatchOutcome/receipts`` are wanted of every push, with how long its answer took. Costs a look at the
    /// clock and a row per push, so it is meant for small batches.
    package var wantsReceipts: Bool

    /// A batch.
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

    /// Why every push of it would be refused, found without asking Apple; nil if nothing is known against it.
    package var refusal: PushOutcome? {
        RequestRules.head(.devicePush(headers))
            ?? RequestRules.priority(headers.priority, of: headers.pushType)
            ?? RequestRules.expiration(headers.expiration)
            ?? RequestRules.collapseID(headers.collapseID)
            ?? RequestRules.requestID(headers.requestID, requests: tokens.count)
            ?? RequestRules.body(body.count, headers.pushType.sizeLimit)
    }
}

package import ActivityModel

/// The same push to many tokens: one set of header fields, one body.
package struct PushBatch: Sendable {
    package var environment: APNSEnvironment
    package var identity: SigningIdentity
    package var headers: PushHeaders
    /// The body, at most ``PayloadLimit/device`` bytes.
    package var body: [UInt8]
    package var tokens: TokenBuffer
    /// When the answer is due at the latest, from the call on. What has not left by then never will.
    package var deadline: Duration

    /// A batch.
    package init(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        headers: PushHeaders,
        body: [UInt8],
        tokens: TokenBuffer,
        deadline: Duration = .seconds(10)
    ) {
        self.environment = environment
        self.identity = identity
        self.headers = headers
        self.body = body
        self.tokens = tokens
        self.deadline = deadline
    }

    /// Why every push of it would be refused, found without asking Apple; nil if nothing is known against it.
    package var refusal: PushOutcome? {
        if let collapseID = headers.collapseID,
            !(1...PushHeaders.maximumCollapseIDBytes).contains(collapseID.utf8.count)
        {
            return PushOutcome(.requestInvalid, reason: "BadCollapseId", detail: "\(collapseID.utf8.count) bytes")
        }
        guard !headers.topic.isEmpty else {
            return PushOutcome(.requestInvalid, reason: "MissingTopic")
        }
        let isCall = headers.pushType == PushType.voip.rawValue
        return PayloadLimit.refusal(count: body.count, limit: isCall ? PayloadLimit.call : PayloadLimit.device)
    }
}

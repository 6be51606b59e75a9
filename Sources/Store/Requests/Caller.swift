/// Who has asked for what is being done, and by which request; nil for what Tally does by itself.
///
/// It goes with the task, because it has no say in what is done: it is only put on record, far below where the request
/// came in.
package struct Caller: Sendable {
    @TaskLocal package static var current: Caller?

    /// The id of the API key, or `bootstrap`.
    package let keyID: String
    package let origin: RequestOrigin

    package init(keyID: String, requestID: String, trace: TraceParent? = nil) {
        self.keyID = keyID
        origin = RequestOrigin(requestID: requestID, trace: trace)
    }
}

/// The request that a change came with. It is kept with the change, so that what became of a request can be found by
/// its id, and the request by what became of it.
package struct RequestOrigin: Sendable, Hashable {
    /// The `X-Request-Id`.
    package let requestID: String
    /// The `traceparent` that it brought, if any.
    package let trace: TraceParent?

    /// That of the present task's caller.
    package static var current: RequestOrigin? { Caller.current?.origin }
}

extension RequestOrigin {
    /// Reads the columns `request_id` and `traceparent`; nil for what came without a request.
    package init?(stored requestID: String?, _ trace: String?) {
        guard let requestID else { return nil }
        self.init(requestID: requestID, trace: trace.flatMap { TraceParent($0) })
    }
}

/// The request that a change came with. It is kept with the change, so that what became of a request can be found by
/// its id, and the request by what became of it.
package struct RequestOrigin: Sendable, Hashable {
    /// The `X-Request-Id`.
    package let requestID: String
    /// The `traceparent` that it brought, if any.
    package let trace: TraceParent?

    package init(requestID: String, trace: TraceParent?) {
        self.requestID = requestID
        self.trace = trace
    }
}

extension RequestOrigin {
    /// Reads the columns `request_id` and `traceparent`; nil for what came without a request.
    package init?(stored requestID: String?, _ trace: String?) {
        guard let requestID else { return nil }
        self.init(requestID: requestID, trace: trace.flatMap { TraceParent($0) })
    }
}

import HTTPTypes

/// Metadata keys of this module's log lines.
enum LogKey {
    static let requestID = "request.id"
    static let traceID = "trace.id"
    static let spanID = "trace.parent_span"
    static let path = "http.path"
    static let method = "http.method"
    static let route = "http.route"
    static let status = "http.status"
    static let error = "error"
}

/// Names of this module's metrics.
enum MetricLabel {
    /// Counter by `method`, `route` and `status`.
    static let requests = "tally.http.requests"
    /// Histogram by `method` and `route`; from the head of the request to the answer, in seconds.
    static let requestDuration = "tally.http.request.duration"
    /// Gauge: readers that follow events.
    static let eventReaders = "tally.http.event.readers"
    /// The `route` of a request that leads to no route; its path could be anything.
    static let unmatched = "unmatched"
}

extension HTTPField.Name {
    // The texts are valid field names, so these are never nil; the fall-back keeps a slip from becoming a trap.
    static let requestID = HTTPField.Name("X-Request-Id") ?? .server
    static let lastEventID = HTTPField.Name("Last-Event-ID") ?? .server
    static let accelBuffering = HTTPField.Name("X-Accel-Buffering") ?? .server
    static let idempotencyKey = HTTPField.Name("Idempotency-Key") ?? .server
    static let traceParent = HTTPField.Name("traceparent") ?? .server
}

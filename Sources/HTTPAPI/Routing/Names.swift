import HTTPTypes

/// Keys of the metadata in this module's log lines.
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
    /// Histogram by `method` and `route`, in seconds from the request's head to its answer.
    static let requestDuration = "tally.http.request.duration"
    /// Gauge: readers that follow events now.
    static let eventReaders = "tally.http.event.readers"
    /// The `route` of a request to an unknown path, which is arbitrary text.
    static let unmatched = "unmatched"
}

extension HTTPField.Name {
    // The texts are valid field names, so these are never nil. The fallback avoids a crash after a typing mistake.
    static let requestID = HTTPField.Name("X-Request-Id") ?? .server
    static let lastEventID = HTTPField.Name("Last-Event-ID") ?? .server
    static let accelBuffering = HTTPField.Name("X-Accel-Buffering") ?? .server
    static let idempotencyKey = HTTPField.Name("Idempotency-Key") ?? .server
    static let idempotentReplayed = HTTPField.Name("Idempotent-Replayed") ?? .server
    static let traceParent = HTTPField.Name("traceparent") ?? .server
}

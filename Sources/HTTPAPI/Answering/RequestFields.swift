import HTTPTypes

/// The header fields of a request that anything depends on, found in one pass.
struct RequestFields: Sendable {
    private(set) var authorization: String?
    private(set) var contentLength: String?
    private(set) var contentType: String?
    private(set) var contentEncoding: String?
    private(set) var transferEncoding: String?
    private(set) var requestID: String?
    private(set) var traceParent: String?
    private(set) var idempotencyKey: String?
    private(set) var accept: String?
    private(set) var lastEventID: String?
    private var expect: String?
    /// A field that may come once only and came again: there is no telling which is meant, and a proxy may think
    /// otherwise.
    private(set) var repeated: HTTPField.Name?

    init(_ fields: HTTPFields) {
        for field in fields {
            switch field.name {
            case .authorization: take(field, as: .authorization, into: \.authorization)
            case .contentLength: Self.add(field, to: &contentLength)
            case .contentType: take(field, as: .contentType, into: \.contentType)
            case .contentEncoding: Self.add(field, to: &contentEncoding)
            case .transferEncoding: Self.add(field, to: &transferEncoding)
            case .requestID: Self.add(field, to: &requestID)
            case .traceParent: Self.add(field, to: &traceParent)
            case .idempotencyKey: take(field, as: .idempotencyKey, into: \.idempotencyKey)
            case .accept: Self.add(field, to: &accept)
            case .expect: Self.add(field, to: &expect)
            case .lastEventID: take(field, as: .lastEventID, into: \.lastEventID)
            default: break
            }
        }
    }

    /// Whether the caller sends the body only when it is told to (RFC 9110 §10.1.1).
    var awaitsContinue: Bool {
        guard let expect else { return false }
        return expect.split(separator: ",").contains { $0.filter { !$0.isWhitespace }.lowercased() == "100-continue" }
    }

    private mutating func take(
        _ field: HTTPField,
        as name: HTTPField.Name,
        into value: WritableKeyPath<RequestFields, String?>
    ) {
        if self[keyPath: value] != nil { repeated = name }
        self[keyPath: value] = field.value
    }

    /// A field that comes several times is one list (RFC 9110 §5.3). Where a list means nothing, nothing understands
    /// it: a `traceparent` that comes twice counts as none (W3C Trace Context §3.2), as does an `X-Request-Id`.
    private static func add(_ field: HTTPField, to value: inout String?) {
        value = value.map { $0 + ", " + field.value } ?? field.value
    }
}

import HTTPTypes

/// The header fields of a request that anything depends on, found in one pass.
struct RequestFields: Sendable {
    private(set) var authorization: String?
    private(set) var contentLength: String?
    private(set) var contentType: String?
    private(set) var transferEncoding: String?
    private(set) var requestID: String?
    private(set) var traceParent: String?
    private(set) var idempotencyKey: String?
    private(set) var accept: String?
    private(set) var lastEventID: String?

    init(_ fields: HTTPFields) {
        for field in fields {
            switch field.name {
            case .authorization: Self.add(field, to: &authorization)
            case .contentLength: Self.add(field, to: &contentLength)
            case .contentType: Self.add(field, to: &contentType)
            case .transferEncoding: Self.add(field, to: &transferEncoding)
            case .requestID: Self.add(field, to: &requestID)
            case .traceParent: Self.add(field, to: &traceParent)
            case .idempotencyKey: Self.add(field, to: &idempotencyKey)
            case .accept: Self.add(field, to: &accept)
            case .lastEventID: Self.add(field, to: &lastEventID)
            default: break
            }
        }
    }

    /// A field that comes several times is one list (RFC 9110 §5.3).
    private static func add(_ field: HTTPField, to value: inout String?) {
        value = value.map { $0 + ", " + field.value } ?? field.value
    }
}

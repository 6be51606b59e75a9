import HTTPTypes

/// The header fields that Tally uses, found in one pass.
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
    /// A field that is allowed once but came again. It is unclear which value applies, and a proxy may choose the other
    /// one.
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

    /// Whether the caller waits for `100 Continue` before it sends the body (RFC 9110 §10.1.1).
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

    /// Joins repeated fields into one list (RFC 9110 §5.3). A list is invalid in `traceparent` (W3C Trace Context §3.2)
    /// and `X-Request-Id`, so their readers then ignore the field.
    private static func add(_ field: HTTPField, to value: inout String?) {
        value = value.map { $0 + ", " + field.value } ?? field.value
    }
}

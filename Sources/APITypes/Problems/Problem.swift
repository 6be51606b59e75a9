package import JSON

/// What a caller is told when a request is not carried out: problem details of RFC 9457 with a stable `code`.
///
/// Thrown by everything that judges a request. Nothing was changed and nothing was sent. `detail` and the messages of
/// `errors` may quote the caller's input; they are answered, never logged. ``description`` is safe for logs.
package struct Problem: Error, Sendable, Hashable {
    /// The HTTP status.
    package var status: Int
    /// Stable word for programs, such as `late_event`.
    package var code: String
    /// One sentence for people: what is wrong and, where it is known, what to do.
    package var detail: String
    /// The places in the input that are wrong, at most ``FieldError/maximumCount``; empty where the problem is not
    /// about the input.
    package var errors: [FieldError]
    /// Further members of the answer, such as `bytes` and `limit`.
    package var extra: JSONObject
    /// Seconds after which the same request may be tried again; sent as `Retry-After`, too.
    package var retryAfter: Int?

    /// For this module alone, so that every code stands beside the others.
    init(
        status: Int,
        code: String,
        detail: String,
        errors: [FieldError] = [],
        extra: JSONObject = JSONObject(),
        retryAfter: Int? = nil
    ) {
        self.status = status
        self.code = code
        self.detail = detail
        self.errors = errors
        self.extra = extra
        self.retryAfter = retryAfter
        self = telling(atMost: FieldError.maximumCount)
    }

    /// The same problem with so many of its errors at most; its `detail` says if there are more.
    func telling(atMost count: Int) -> Problem {
        var problem = self
        problem.errors = FieldError.told(errors, atMost: count)
        if problem.errors.count < errors.count {
            problem.detail += " There are more errors than are told here."
        }
        return problem
    }

    /// The media type of a problem's JSON.
    package static let mediaType = "application/problem+json"

    /// The members that have a property of their own, so that ``extra`` holds what is left.
    private static let ownMembers: Set<String> = [
        "type", "title", "status", "code", "detail", "instance", "errors", "retry_after_seconds",
    ]
}

extension Problem: APIAnswer {
    /// Reads a problem that a server answered. Members that are not known go to ``extra``.
    package init?(reader: inout ObjectReader) {
        let status = reader.required("status", .int)
        let code = reader.required("code", .string)
        let detail = reader.optional("detail", .string)
        let errors = reader.optional("errors", .list(of: .object(FieldError.self)))
        let retryAfter = reader.optional("retry_after_seconds", .int)
        guard reader.finish(), let status, let code else { return nil }
        var extra = JSONObject()
        for (key, value) in reader.object.entries where !Self.ownMembers.contains(key) {
            extra[key] = value
        }
        self.init(
            status: status,
            code: code,
            detail: detail ?? "",
            errors: errors ?? [],
            extra: extra,
            retryAfter: retryAfter
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("title", Self.title(ofStatus: status))
        fields.add("status", status)
        fields.add("code", code)
        fields.add("detail", detail)
        if !errors.isEmpty { fields.add("errors", .array(errors.map(\.json))) }
        fields.add("retry_after_seconds", retryAfter)
        for (key, value) in extra.entries { fields.add(key, value) }
        return fields.json
    }

    /// RFC 9457 §4.2.1: without a `type` of its own, a problem's title is the phrase of its status.
    private static func title(ofStatus status: Int) -> String {
        switch status {
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 409: "Conflict"
        case 413: "Content Too Large"
        case 415: "Unsupported Media Type"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 500: "Internal Server Error"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        default: status < 500 ? "Request Refused" : "Server Error"
        }
    }
}

extension Problem: CustomStringConvertible {
    /// Status, code and the pointers, without the caller's values.
    package var description: String {
        guard !errors.isEmpty else { return "\(status) \(code)" }
        return "\(status) \(code) at \(errors.map { "'\($0.pointer)'" }.joined(separator: ", "))"
    }
}

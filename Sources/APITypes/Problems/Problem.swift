package import JSON

/// The answer to a rejected request: problem details of RFC 9457 with a stable `code`.
///
/// All code that judges a request throws it. A rejected request changes nothing and sends nothing. `detail` and the
/// messages of `errors` may quote the caller's input: they are answered, never logged. ``description`` is safe for
/// logs.
package struct Problem: Error, Sendable, Hashable {
    /// The HTTP status.
    package var status: Int
    /// A stable word for programs, such as `late_event`.
    package var code: String
    /// One sentence for people: the error and, if known, what to do.
    package var detail: String
    /// The errors in the input, at most ``FieldError/maximumCount``. Empty if the problem is not about the input.
    package var errors: [FieldError]
    /// Further members of the JSON object, such as `bytes` and `limit`.
    package var extra: JSONObject
    /// Seconds until the same request may be tried again. Also sent as `Retry-After`.
    package var retryAfter: Int?

    /// Internal, so that all codes are made in this module.
    init(
        _ status: Int,
        _ code: String,
        _ detail: String,
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

    /// The same problem with at most `count` errors. Its `detail` says if there are more.
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

    /// The members with a property of their own. ``extra`` holds the others.
    private static let ownMembers: Set<String> = [
        "type", "title", "status", "code", "detail", "instance", "errors", "retry_after_seconds",
    ]
}

extension Problem: APIAnswer {
    /// Reads a problem from a server's answer. Unknown members go to ``extra``.
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
        self.init(status, code, detail ?? "", errors: errors ?? [], extra: extra, retryAfter: retryAfter)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("type", Self.typePath + code)
        fields.add("title", Self.title(of: code))
        fields.add("status", status)
        fields.add("code", code)
        fields.add("detail", detail)
        if !errors.isEmpty { fields.add("errors", .array(errors.map(\.json))) }
        fields.add("retry_after_seconds", retryAfter)
        for (key, value) in extra.entries { fields.add(key, value) }
        return fields.json
    }

    /// The start of every `type`. The daemon serves a page about each code below this path.
    package static let typePath = "/docs/errors/"

    /// The words of a code as a title: "Activity ended" of `activity_ended`.
    package static func title(of code: String) -> String {
        let words = code.split(separator: "_").map { names[$0] ?? String($0) }.joined(separator: " ")
        return words.prefix(1).uppercased() + words.dropFirst()
    }

    /// The words of codes that are names.
    private static let names: [Substring: String] = ["apns": "APNs", "json": "JSON"]
}

extension Problem: CustomStringConvertible {
    /// Status, code and pointers, without the caller's values.
    package var description: String {
        guard !errors.isEmpty else { return "\(status) \(code)" }
        return "\(status) \(code) at \(errors.map { "'\($0.pointer)'" }.joined(separator: ", "))"
    }
}

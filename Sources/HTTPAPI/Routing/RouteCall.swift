import APITypes
import ActivityModel
import Cryptography
import Hummingbird
import JSON
import Orchestrator

/// One request as its route sees it: authenticated, its query known, its body read.
struct RouteCall: Sendable {
    let method: String
    /// The path as it was sent.
    let path: String
    /// The caller; nil on open routes only.
    let principal: Principal?
    /// Values of the braced segments; each is percent-encoded UTF-8.
    let segments: PathSegments
    /// The query; every name is one that the route knows and occurs once.
    let query: [String: String]
    /// The body's bytes; empty where the route takes none.
    let body: [UInt8]
    /// The header of that name, as it was sent.
    let idempotencyHeader: String?
    /// What matters only to an answer that goes on and on.
    let streaming: StreamTerms

    /// The body as JSON.
    ///
    /// - Throws: 400 `invalid_json`, which says where.
    func json() throws(Problem) -> JSONValue {
        do {
            return try JSONValue.parse(body)
        } catch {
            var problem = Problem.invalidJSON("At byte \(error.offset): \(error.message)")
            problem.extra["offset"] = .number(JSONNumber(error.offset))
            throw problem
        }
    }

    /// The body as a request of that type.
    func request<Value: APIRequest>(_: Value.Type = Value.self) throws(Problem) -> Value {
        try Value(json: try json())
    }

    /// A braced segment of the path, read by `read`.
    ///
    /// - Throws: 422 that names the segment.
    func segment<Value>(_ name: String, _ read: (String) -> Value?) throws(Problem) -> Value {
        guard let text = segments[name], let value = read(text) else {
            throw Self.invalid("'\(name)' in the path is not valid.")
        }
        return value
    }

    /// A query parameter, read by `read`; nil if it is absent.
    ///
    /// - Throws: 422 that names the parameter.
    func parameter<Value>(_ name: String, _ read: (String) -> Value?) throws(Problem) -> Value? {
        guard let text = query[name] else { return nil }
        guard let value = read(text) else { throw Self.invalid("The query parameter '\(name)' is not valid.") }
        return value
    }

    /// A query parameter that is `true` or `false`; absent means false.
    func flag(_ name: String) throws(Problem) -> Bool {
        try parameter(name) { $0 == "true" ? true : $0 == "false" ? false : nil } ?? false
    }

    /// A query parameter that is one word of a list; nil if it is absent.
    ///
    /// - Throws: 422 that names the parameter and the words.
    func word<Word>(_ name: String, _: Word.Type = Word.self) throws(Problem) -> Word?
    where Word: RawRepresentable & CaseIterable, Word.RawValue == String {
        guard let text = query[name] else { return nil }
        guard let word = Word(rawValue: text) else {
            let words = Word.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
            throw Self.invalid("The query parameter '\(name)' must be one of \(words).")
        }
        return word
    }

    /// `limit` and `cursor`.
    func page() throws(Problem) -> PageRequest {
        try PageRequest(limit: query["limit"], cursor: query["cursor"])
    }

    /// The app that the path names.
    func app() throws(Problem) -> BundleID { try segment("bundle_id", BundleID.init) }

    /// A braced segment that is a UUID, in lower case.
    func uuid(_ name: String) throws(Problem) -> String {
        try segment(name) { ChannelID($0)?.rawValue }
    }

    /// What the caller wants to be carried out once, if it says so.
    func idempotencyKey() throws(Problem) -> IdempotencyKey? {
        guard let key = idempotencyHeader, let principal else { return nil }
        guard (1...255).contains(key.utf8.count) else {
            throw Self.invalid("'Idempotency-Key' must have 1 to 255 bytes.")
        }
        return IdempotencyKey(
            apiKeyID: principal.keyID,
            method: method,
            path: path,
            key: key,
            bodyHash: SHA256.hash(body)
        )
    }

    /// 422 for something that is not in the body, and so has no pointer.
    static func invalid(_ detail: String) -> Problem {
        Problem(status: 422, code: "invalid_request", detail: detail)
    }
}

import APITypes
import ActivityModel
import Cryptography
import JSON
import Registry
import Store

/// One request as its handler gets it: authenticated, with its query checked and its body read.
struct RouteCall: Sendable {
    let method: String
    /// The path of the route, with its segments in braces.
    let route: String
    /// The caller; nil on open routes only.
    let principal: Principal?
    /// Values of the segments in braces. All are valid percent-encoded UTF-8.
    let segments: PathSegments
    /// The query. The route allows every name, and each occurs once.
    let query: [String: String]
    /// The body's bytes; empty if the route takes no body.
    let body: [UInt8]
    /// The request's id and trace.
    let origin: RequestOrigin
    /// The header `Idempotency-Key` as the caller sent it.
    let idempotencyHeader: String?
    /// Facts that only streaming answers need.
    let streaming: StreamTerms

    /// Whether the body's work takes as long as several other requests.
    var isLarge: Bool { body.count > 8 << 10 }

    /// The body as JSON.
    ///
    /// - Throws: 400 `invalid_json` with the position; 422 with the field if a text contains U+0000, which Postgres
    ///   cannot store.
    func json() throws(Problem) -> JSONValue { try Self.json(body, "body") }

    /// Bytes as JSON, with the same errors. `part` says which part of the request they are.
    static func json(_ bytes: [UInt8], _ part: String) throws(Problem) -> JSONValue {
        do {
            return try JSONValue.parse(bytes, refusesNUL: true)
        } catch {
            // Parses again, because only the whole document shows which field it is.
            if error.code == .nul, let place = (try? JSONValue.parse(bytes))?.placeOfNUL { throw .nul(at: place) }
            throw .invalidJSON(error, of: part)
        }
    }

    /// The body as a request of that type.
    func request<Value: APIRequest>(_: Value.Type = Value.self) throws(Problem) -> Value {
        try Value(json: try json())
    }

    /// A path segment in braces, read as a field of that type.
    ///
    /// - Throws: 422 that names the segment and describes the expected text.
    func segment<Value>(_ name: String, _ type: FieldType<Value>) throws(Problem) -> Value {
        try type.read(segments[name] ?? "", of: "'\(name)' in the path")
    }

    /// A path segment in braces that is one word from a list.
    ///
    /// - Throws: 422 that names the segment and lists the words.
    func segment<Word>(_ name: String, oneOf _: Word.Type) throws(Problem) -> Word
    where Word: RawRepresentable & CaseIterable, Word.RawValue == String {
        guard let word = segments[name].flatMap({ Word(rawValue: $0) }) else {
            throw Self.notOne(of: Word.allCases.map(\.rawValue), "'\(name)' in the path")
        }
        return word
    }

    /// A query parameter, read as a field of that type; nil if it is absent.
    ///
    /// - Throws: 422 that names the parameter and describes the expected text.
    func parameter<Value>(_ name: String, _ type: FieldType<Value>) throws(Problem) -> Value? {
        guard let text = query[name] else { return nil }
        return try type.read(text, of: "The query parameter '\(name)'")
    }

    /// A query parameter that is `true` or `false`; false if it is absent.
    ///
    /// - Throws: 422 that names the parameter and both words.
    func flag(_ name: String) throws(Problem) -> Bool {
        guard let text = query[name] else { return false }
        guard let flag = Bool(text) else { throw Self.notOne(of: ["true", "false"], "The query parameter '\(name)'") }
        return flag
    }

    /// A query parameter that is one word from a list; nil if it is absent.
    ///
    /// - Throws: 422 that names the parameter and lists the words.
    func word<Word>(_ name: String, _: Word.Type = Word.self) throws(Problem) -> Word?
    where Word: RawRepresentable & CaseIterable, Word.RawValue == String {
        guard let text = query[name] else { return nil }
        guard let word = Word(rawValue: text) else {
            throw Self.notOne(of: Word.allCases.map(\.rawValue), "The query parameter '\(name)'")
        }
        return word
    }

    /// `limit` and `cursor`.
    func page() throws(Problem) -> PageRequest {
        try PageRequest(limit: query["limit"], cursor: query["cursor"])
    }

    func app() throws(Problem) -> BundleID { try segment("bundle_id", .bundleID) }

    /// A path segment in braces that is a UUID, in lower case.
    func uuid(_ name: String) throws(Problem) -> String {
        try segment(name, .channelID).rawValue
    }

    /// The request's idempotency key; nil without the header. Its path does not depend on how the caller spelled the
    /// segments, so that it is the key of the same operation in a batch, too.
    func idempotencyKey() throws(Problem) -> IdempotencyKey? {
        guard let key = idempotencyHeader, let principal else { return nil }
        guard (1...255).contains(key.utf8.count) else {
            throw Problem.invalidRequest("'Idempotency-Key' must have 1 to 255 bytes.")
        }
        return IdempotencyKey(
            apiKeyID: principal.keyID,
            app: try app(),
            method: method,
            path: segments.path(of: route),
            key: key,
            bodyHash: SHA256.hash(body)
        )
    }

    /// 422 for a word that is not in the list.
    private static func notOne(of words: [String], _ place: String) -> Problem {
        .invalidRequest("\(place) must be one of \(words.map { "'\($0)'" }.joined(separator: ", ")).")
    }
}

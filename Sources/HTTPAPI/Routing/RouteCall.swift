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

    /// Whether what the body asks for takes as long as several other requests.
    var isLarge: Bool { body.count > 8 << 10 }

    /// The body as JSON.
    ///
    /// - Throws: 400 `invalid_json`, which says where; 422 with the field for a text with U+0000, which Postgres cannot
    ///   hold.
    func json() throws(Problem) -> JSONValue {
        do {
            return try JSONValue.parse(body, refusesNUL: true)
        } catch {
            // Read again, because only a whole document tells which field it is.
            if error.code == .nul, let place = (try? JSONValue.parse(body))?.placeOfNUL { throw .nul(at: place) }
            throw .invalidJSON(error)
        }
    }

    /// The body as a request of that type.
    func request<Value: APIRequest>(_: Value.Type = Value.self) throws(Problem) -> Value {
        try Value(json: try json())
    }

    /// A braced segment of the path, read as a field of that type is.
    ///
    /// - Throws: 422 that names the segment, and says what it has to look like.
    func segment<Value>(_ name: String, _ type: FieldType<Value>) throws(Problem) -> Value {
        try type.read(segments[name] ?? "", of: "'\(name)' in the path")
    }

    /// A braced segment that is one word of a list.
    ///
    /// - Throws: 422 that names the segment and the words.
    func segment<Word>(_ name: String, oneOf _: Word.Type) throws(Problem) -> Word
    where Word: RawRepresentable & CaseIterable, Word.RawValue == String {
        guard let word = segments[name].flatMap({ Word(rawValue: $0) }) else {
            throw Self.notOne(of: Word.allCases.map(\.rawValue), "'\(name)' in the path")
        }
        return word
    }

    /// A query parameter, read as a field of that type is; nil if it is absent.
    ///
    /// - Throws: 422 that names the parameter, and says what it has to look like.
    func parameter<Value>(_ name: String, _ type: FieldType<Value>) throws(Problem) -> Value? {
        guard let text = query[name] else { return nil }
        return try type.read(text, of: "The query parameter '\(name)'")
    }

    /// A query parameter that is `true` or `false`; absent means false.
    ///
    /// - Throws: 422 that names the parameter and both words.
    func flag(_ name: String) throws(Problem) -> Bool {
        guard let text = query[name] else { return false }
        guard let flag = Bool(text) else { throw Self.notOne(of: ["true", "false"], "The query parameter '\(name)'") }
        return flag
    }

    /// A query parameter that is one word of a list; nil if it is absent.
    ///
    /// - Throws: 422 that names the parameter and the words.
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

    /// The app that the path names.
    func app() throws(Problem) -> BundleID { try segment("bundle_id", .bundleID) }

    /// A braced segment that is a UUID, in lower case.
    func uuid(_ name: String) throws(Problem) -> String {
        try segment(name, .channelID).rawValue
    }

    /// What the caller wants to be carried out once, if it says so.
    func idempotencyKey() throws(Problem) -> IdempotencyKey? {
        guard let key = idempotencyHeader, let principal else { return nil }
        guard (1...255).contains(key.utf8.count) else {
            throw Problem.invalidRequest("'Idempotency-Key' must have 1 to 255 bytes.")
        }
        return IdempotencyKey(
            apiKeyID: principal.keyID,
            method: method,
            path: path,
            key: key,
            bodyHash: SHA256.hash(body)
        )
    }

    /// 422 for a word that is none of those that there are.
    private static func notOne(of words: [String], _ place: String) -> Problem {
        .invalidRequest("\(place) must be one of \(words.map { "'\($0)'" }.joined(separator: ", ")).")
    }
}

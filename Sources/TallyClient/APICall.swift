import APITypes
import JSON

/// One API call, before it becomes an HTTP request.
struct APICall {
    /// Whether the call can be repeated after it may have arrived.
    enum Repeating {
        /// Yes: the method is idempotent.
        case harmless
        /// Yes: a POST with an idempotency key.
        case byKey(String)
        /// No.
        case impossible
    }

    var method: String
    /// The path, percent-encoded.
    var path: String
    var query: [(name: String, value: String)] = []
    var body: JSONValue?
    var repeating: Repeating = .harmless
    /// The media type of the answer.
    var accept = "application/json"
    /// For a stream of events: the last event that was read.
    var lastEventID: String?

    /// The media type of a body that follows part by part; nil: there is none.
    var streamedBody: String?

    /// Whether it takes effect only once, however often it arrives.
    var isRepeatable: Bool {
        if case .impossible = repeating { false } else { true }
    }

    /// Whether it changes anything.
    var hasEffect: Bool { method != "GET" }

    static func get(_ path: APIPath, query: [(name: String, value: String?)] = []) -> APICall {
        APICall(method: "GET", path: path.text, query: query.compactMap { name, value in value.map { (name, $0) } })
    }

    static func put(_ path: APIPath, _ body: some APIRequest) -> APICall {
        APICall(method: "PUT", path: path.text, body: body.json)
    }

    /// A merge patch. It may be repeated: it sets values, whatever they were.
    static func patch(_ path: APIPath, _ body: some APIRequest) -> APICall {
        APICall(method: "PATCH", path: path.text, body: body.json)
    }

    static func delete(_ path: APIPath, query: [(name: String, value: String?)] = []) -> APICall {
        APICall(method: "DELETE", path: path.text, query: query.compactMap { name, value in value.map { (name, $0) } })
    }

    /// A POST that takes effect once. All its tries share the key; nil: a new one.
    static func post(_ path: APIPath, _ body: some APIRequest, key: String?) -> APICall {
        let key = key ?? TallyClient.newIdempotencyKey()
        return APICall(method: "POST", path: path.text, body: body.json, repeating: .byKey(key))
    }

    /// A POST that does no harm if it is carried out twice.
    static func post(_ path: APIPath, harmless body: some APIRequest) -> APICall {
        APICall(method: "POST", path: path.text, body: body.json)
    }

    /// Path and query, percent-encoded.
    var target: String {
        guard !query.isEmpty else { return path }
        let pairs = query.map { "\($0.name)=\(PercentEncoding.encode($0.value))" }
        return path + "?" + pairs.joined(separator: "&")
    }
}

import HTTPTypes
import NIOHTTP1

// Heads of requests and answers: NIO reads and writes its own types, and routes use those of swift-http-types.

extension HTTPRequest {
    /// Nil for a method that is no token.
    init?(_ head: HTTPRequestHead) {
        guard let method = Method(head.method.rawValue) else { return nil }
        var fields = HTTPFields()
        fields.reserveCapacity(head.headers.count)
        var authority: String?
        for (rawName, value) in head.headers {
            guard let name = HTTPField.Name(rawName) else { continue }
            if name.canonicalName == "host" {
                authority = value
            } else {
                fields.append(HTTPField(name: name, value: value))
            }
        }
        self.init(method: method, scheme: "http", authority: authority, path: head.uri, headerFields: fields)
    }
}

extension HTTPResponseHead {
    init(_ status: HTTPResponse.Status, _ fields: HTTPFields) {
        self.init(
            version: .http1_1,
            status: HTTPResponseStatus(statusCode: status.code, reasonPhrase: status.reasonPhrase),
            headers: HTTPHeaders(fields.map { ($0.name.rawName, $0.value) })
        )
    }
}

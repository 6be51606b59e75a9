import APITypes
import HTTPTypes
import Hummingbird
import JSON
import NIOCore

/// What a route answers.
struct RouteAnswer: Sendable {
    let status: HTTPResponse.Status
    /// The media type and the bytes; nil without a body.
    let content: (type: String, bytes: ByteBuffer)?

    /// A JSON body.
    static func json(_ value: JSONValue, status: HTTPResponse.Status = .ok) -> RouteAnswer {
        RouteAnswer(status: status, content: ("application/json", ByteBuffer(bytes: value.serialized())))
    }

    /// 200 with a body.
    static func ok(_ answer: some APIAnswer) -> RouteAnswer { json(answer.json) }

    /// 201 with a body.
    static func created(_ answer: some APIAnswer) -> RouteAnswer { json(answer.json, status: .created) }

    /// 202 with a body: committed, and the phones will follow.
    static func accepted(_ answer: some APIAnswer) -> RouteAnswer { json(answer.json, status: .accepted) }

    /// 204.
    static let noContent = RouteAnswer(status: .noContent, content: nil)

    /// 200 with text.
    static func text(_ text: String, type: String) -> RouteAnswer {
        RouteAnswer(status: .ok, content: (type, ByteBuffer(string: text)))
    }

    var response: Response {
        guard let content else { return Response(status: status) }
        return Response(
            status: status,
            headers: [.contentType: content.type],
            body: ResponseBody(byteBuffer: content.bytes)
        )
    }
}

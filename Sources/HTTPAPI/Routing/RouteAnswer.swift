import APITypes
import HTTP1Server
import HTTPTypes
import JSON
import NIOCore
import Store

/// What a route's handler returns. ``Responder`` turns it into the HTTP response.
struct RouteAnswer: Sendable {
    let status: HTTPResponse.Status
    private(set) var headers: HTTPFields
    let body: HTTPAnswer.Body

    /// An answer with a body of that media type, or without a body.
    init(status: HTTPResponse.Status, content: (type: String, bytes: ByteBuffer)? = nil) {
        self.status = status
        headers = content.map { [.contentType: $0.type] } ?? [:]
        body = .bytes(content?.bytes ?? ByteBuffer())
    }

    /// 200 with a streamed body. `write` writes it until its end.
    init(
        streaming headers: HTTPFields,
        _ write: @escaping @Sendable @concurrent (any BodyWriter) async throws -> Void
    ) {
        status = .ok
        self.headers = headers
        body = .stream(write)
    }

    static func json(_ value: JSONValue, status: HTTPResponse.Status = .ok) -> RouteAnswer {
        RouteAnswer(status: status, content: ("application/json", ByteBuffer(bytes: value.serialized())))
    }

    /// 200 with a body.
    static func ok(_ answer: some APIAnswer) -> RouteAnswer { json(answer.json) }

    /// 201 with a body.
    static func created(_ answer: some APIAnswer) -> RouteAnswer { json(answer.json, status: .created) }

    /// 202 with a body: the change is committed, and Tally will send it to the phones.
    static func accepted(_ answer: some APIAnswer) -> RouteAnswer { json(answer.json, status: .accepted) }

    /// 200 with a body, which may answer an earlier request.
    static func ok(_ given: Replayable<some APIAnswer>) -> RouteAnswer {
        ok(given.answer).markingReplay(given.isReplay)
    }

    /// 201 with a body, which may answer an earlier request.
    static func created(_ given: Replayable<some APIAnswer>) -> RouteAnswer {
        created(given.answer).markingReplay(given.isReplay)
    }

    /// 202 with a body, which may answer an earlier request.
    static func accepted(_ given: Replayable<some APIAnswer>) -> RouteAnswer {
        accepted(given.answer).markingReplay(given.isReplay)
    }

    /// With the header `Idempotent-Replayed` if the caller gets the answer of an earlier request.
    private func markingReplay(_ isReplay: Bool) -> RouteAnswer {
        guard isReplay else { return self }
        var answer = self
        answer.headers[.idempotentReplayed] = "true"
        return answer
    }

    static let noContent = RouteAnswer(status: .noContent)

    static func text(_ text: String, type: String) -> RouteAnswer {
        RouteAnswer(status: .ok, content: (type, ByteBuffer(string: text)))
    }

    /// 200 with a page that loads only the style sheet beside it, and runs no script.
    static func page(_ html: ByteBuffer) -> RouteAnswer {
        var answer = RouteAnswer(status: .ok, content: ("text/html; charset=utf-8", html))
        answer.headers[.contentSecurityPolicy] =
            "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        answer.headers[.xContentTypeOptions] = "nosniff"
        return answer
    }

    /// A problem, as `application/problem+json`.
    static func problem(_ problem: Problem, headers: HTTPFields = [:]) -> RouteAnswer {
        let bytes = ByteBuffer(bytes: problem.json.serialized())
        var answer = RouteAnswer(
            status: HTTPResponse.Status(code: problem.status),
            content: (Problem.mediaType, bytes)
        )
        answer.headers += headers
        if let seconds = problem.retryAfter { answer.headers[.retryAfter] = String(seconds) }
        return answer
    }
}

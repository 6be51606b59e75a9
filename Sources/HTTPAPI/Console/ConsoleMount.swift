import APITypes
import Console
import HTTP1Server
import HTTPTypes
import JSON
import NIOCore
import Registry
import Synchronization

/// Serves the console on the API's listener: turns HTTP requests into the console's, and its calls into the API's.
///
/// All that the console has to do with the HTTP layer is in this file.
struct ConsoleMount: Sendable {
    let console: Console
    let responder: Responder
    let service: any TallyService

    func respond(to call: HTTPCall) async throws -> HTTPAnswer {
        let api = InProcessAPI(responder: responder, service: service, visit: call)
        let response = try await response(try await answer(to: call, over: api), api)
        return call.head.method == .head ? response.withoutBody : response
    }

    private func answer(to call: HTTPCall, over api: InProcessAPI) async throws -> ConsoleAnswer {
        let method = call.head.method
        let headers = call.head.headerFields
        var request = ConsoleRequest(
            method: method == .head ? "GET" : method.rawValue,
            path: call.path,
            query: call.query ?? "",
            fields: ConsoleRequest.Fields(
                cookie: headers[.cookie],
                host: call.head.authority,
                origin: headers[.origin],
                fetchSite: headers[.fetchSite],
                forwardedProtocol: headers[.forwardedProtocol],
                lastEventID: headers[.lastEventID]
            ),
            client: call.client,
            now: .now
        )
        // Only a form has a body that counts.
        if method == .post {
            do {
                request.body = Array(try await call.body(upTo: console.bodyLimit(of: request)).readableBytesView)
            } catch is BodyTooLarge {
                return Console.bodyTooLarge
            }
        }
        return await console.answer(to: request, over: api)
    }

    private func response(_ answer: ConsoleAnswer, _ api: InProcessAPI) async throws -> HTTPAnswer {
        var fields = HTTPFields()
        for (name, value) in answer.fields {
            // The console's names are all valid.
            if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
        }
        switch answer.body {
        case .bytes(let bytes):
            return HTTPAnswer(
                status: HTTPResponse.Status(code: answer.status),
                headers: fields,
                body: .bytes(ByteBuffer(bytes: bytes))
            )
        case .events(let call):
            let stream = try await api.response(to: call)
            var headers = stream.headers
            for field in fields where !headers.contains(field.name) { headers.append(field) }
            return HTTPAnswer(status: stream.status, headers: headers, body: stream.body)
        }
    }
}

/// The API within this process. Every call takes all steps of a request over HTTP.
private struct InProcessAPI: ConsoleAPI {
    let responder: Responder
    let service: any TallyService
    /// The request of the person who looks.
    let visit: HTTPCall

    func owner(ofKey secret: String) async throws -> KeyOwner? {
        do {
            let principal = try await service.registry.authenticate(secret: secret)
            guard let principal, principal.ticket == nil else { return nil }
            return KeyOwner(keyID: principal.keyID, scopes: principal.scopes, app: principal.app)
        } catch {
            throw service.problem(for: error) ?? error
        }
    }

    func answer(to call: ConsoleCall) async -> APIReply {
        do {
            let response = try await response(to: call)
            return APIReply(status: response.status.code, body: try await Self.bytes(of: response.body))
        } catch {
            let problem = service.problem(for: error) ?? .internalError()
            return APIReply(status: problem.status, body: problem.json.serialized())
        }
    }

    private static func bytes(of body: HTTPAnswer.Body) async throws -> [UInt8] {
        switch body {
        case .bytes(let bytes): return Array(bytes.readableBytesView)
        case .stream(let write):
            let collector = Collector()
            try await write(collector)
            return collector.bytes
        case .none: return []
        }
    }

    func response(to call: ConsoleCall) async throws -> HTTPAnswer {
        var fields: HTTPFields = [
            .authorization: "Bearer \(call.secret)", .accept: call.accept ?? "application/json",
        ]
        let body = call.body?.serialized() ?? []
        if call.body != nil {
            fields[.contentType] = "application/json"
            fields[.contentLength] = String(body.count)
        }
        if let key = call.idempotencyKey { fields[.idempotencyKey] = key }
        if let id = call.lastEventID { fields[.lastEventID] = id }
        let head = HTTPRequest(
            method: HTTPRequest.Method(call.method) ?? .get,
            scheme: "http",
            authority: "tally",
            path: call.path.text,
            headerFields: fields
        )
        return try await responder.respond(to: visit.inPlace(head, body: ByteBuffer(bytes: body)))
    }
}

/// Keeps what is written of a body.
private final class Collector: BodyWriter {
    private let buffer = Mutex(ByteBuffer())

    var bytes: [UInt8] { buffer.withLock { Array($0.readableBytesView) } }

    func write(_ part: ByteBuffer) async throws {
        buffer.withLock { _ = $0.writeImmutableBuffer(part) }
    }
}

extension HTTPField.Name {
    // The texts are valid field names, so these are never nil. The fallback avoids a crash after a typing mistake.
    fileprivate static let fetchSite = HTTPField.Name("Sec-Fetch-Site") ?? .server
    fileprivate static let forwardedProtocol = HTTPField.Name("X-Forwarded-Proto") ?? .server
}

import APITypes
import HTTPTypes
import Hummingbird
import NIOCore
import Orchestrator

/// The last step of a request: reads the query and the body, calls the route, writes its answer.
struct RouteResponder: HTTPResponder {
    typealias Context = RouteContext

    let route: Route
    /// The most bytes that a body may have.
    let maximumBodySize: Int

    func respond(to request: Request, context: RouteContext) async throws -> Response {
        let query = try readQuery(of: request)
        let segments = try readSegments(of: context)
        let body = route.takesBody ? try await readBody(of: request) : []
        let call = RouteCall(
            method: route.method.rawValue,
            path: request.uri.path,
            principal: context.principal,
            segments: segments,
            query: query,
            body: body,
            idempotencyHeader: request.headers[.idempotencyKey],
            streaming: StreamTerms(
                accept: request.headers[.accept],
                lastEventID: request.headers[.lastEventID],
                authenticateAgain: context.authenticateAgain,
                hangUp: context.hangUp
            )
        )
        let caller = context.principal.map {
            Caller(keyID: $0.keyID, requestID: context.requestID, trace: context.trace)
        }
        return try await Caller.$current.withValue(caller) { try await route.handler(call).response }
    }

    private func readQuery(of request: Request) throws(Problem) -> [String: String] {
        guard let text = request.uri.query, !text.isEmpty else { return [:] }
        var query: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? parts[1] : ""
            guard let name = PercentEncoding.decode(parts[0]), let value = PercentEncoding.decode(value) else {
                throw RouteCall.invalid("The query is not percent-encoded UTF-8.")
            }
            guard route.query.contains(name) else {
                throw RouteCall.invalid("The query parameter '\(name)' is not known here.")
            }
            guard query.updateValue(value, forKey: name) == nil else {
                throw RouteCall.invalid("The query parameter '\(name)' is given twice.")
            }
        }
        return query
    }

    private func readSegments(of context: RouteContext) throws(Problem) -> [String: String] {
        var segments: [String: String] = [:]
        for (name, value) in context.parameters {
            guard let text = PercentEncoding.decode(value) else {
                throw RouteCall.invalid("'\(name)' in the path is not percent-encoded UTF-8.")
            }
            segments[String(name)] = text
        }
        return segments
    }

    private func readBody(of request: Request) async throws -> [UInt8] {
        do {
            let buffer = try await request.body.collect(upTo: maximumBodySize)
            return Array(buffer.readableBytesView)
        } catch is NIOTooManyBytesError {
            throw Problem.bodyTooLarge(limit: maximumBodySize)
        } catch {
            throw BodyReadError(cause: error)
        }
    }
}

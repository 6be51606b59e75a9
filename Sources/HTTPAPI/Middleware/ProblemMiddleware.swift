import APITypes
import HTTPTypes
import Hummingbird
import JSON
import Logging
import NIOCore

/// Turns what is thrown behind it into `application/problem+json`.
struct ProblemMiddleware: RouterMiddleware {
    typealias Context = RouteContext

    /// The problem behind an error of the service, where it is not our bug: an outage, above all.
    let outage: @Sendable (any Error) -> Problem?

    func handle(
        _ request: Request,
        context: RouteContext,
        next: @concurrent (Request, RouteContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let refusal as Refusal {
            return Self.response(refusal.problem, headers: refusal.headers)
        } catch let problem as Problem {
            return Self.response(problem)
        } catch let error as BodyReadError {
            // Hummingbird answers what its parser found, and knows that the connection is lost.
            throw error.cause
        } catch is CancellationError {
            return Self.response(.unavailable("The server is stopping."))
        } catch {
            if let problem = outage(error) {
                context.logger.warning(
                    "request failed",
                    metadata: [LogKey.error: "\(error)", LogKey.status: .stringConvertible(problem.status)]
                )
                return Self.response(problem)
            }
            // Errors of this program describe themselves without payloads, tokens and keys.
            context.logger.error("request failed", metadata: [LogKey.error: "\(error)"])
            var problem = Problem.internalError()
            problem.extra["request_id"] = .string(context.requestID)
            return Self.response(problem)
        }
    }

    private static func response(_ problem: Problem, headers: HTTPFields = [:]) -> Response {
        var headers = headers
        headers[.contentType] = Problem.mediaType
        if let seconds = problem.retryAfter {
            headers[.retryAfter] = String(seconds)
        }
        return Response(
            status: HTTPResponse.Status(code: problem.status),
            headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: problem.json.serialized()))
        )
    }
}

/// A problem whose answer needs headers of its own.
struct Refusal: Error {
    let problem: Problem
    let headers: HTTPFields
}

/// The body could not be read to its end: the connection broke or was not HTTP any more.
struct BodyReadError: Error {
    let cause: any Error
}

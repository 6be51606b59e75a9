import APITypes
import HTTPTypes
import Hummingbird
import JSON
import Logging
import Orchestrator

/// Answers requests: the steps that all routes share, in their order.
struct Responder: Sendable {
    private let table: RouteTable
    private let service: any TallyService
    private let bodyLimit: BodyLimit
    private let limits: RateLimits
    private let logger: Logger

    /// - Parameters:
    ///   - table: the routes.
    ///   - service: knows the callers, and which errors are outages.
    ///   - maximumBodySize: the most bytes of a body.
    ///   - limits: how often callers may ask.
    ///   - logger: gets one line for each failed request; nothing of bodies, keys or tokens.
    init(
        _ table: RouteTable,
        service: any TallyService,
        maximumBodySize: Int,
        limits: RateLimits,
        logger: Logger
    ) {
        self.table = table
        self.service = service
        bodyLimit = BodyLimit(size: maximumBodySize)
        self.limits = limits
        self.logger = logger
    }

    /// Answers a request, whatever becomes of it.
    ///
    /// - Parameters:
    ///   - request: its body may not have come yet.
    ///   - proceed: tells a caller that waits for it to send the body; nil if there is no connection.
    ///   - hangUp: ends the connection at once, for a peer that does not read; nil if there is no connection.
    /// - Returns: The answer, also to a request that is refused.
    /// - Throws: Only why a body could not be read to its end: there is nobody left to answer.
    func respond(
        to request: Request,
        proceed: (@Sendable () async throws -> Void)? = nil,
        hangUp: (@Sendable () -> Void)? = nil
    ) async throws -> Response {
        let began = ContinuousClock.now
        let asked = AskedRequest(request, proceed: proceed, hangUp: hangUp)
        let match = table.match(request.method, path: asked.path)
        let answer = try await outcome(of: asked, match)
        match.meter.record(status: answer.status.code, began.duration(to: .now))
        // Asked first, because naming the request to the log costs more than most logs want to hear.
        if logger.logLevel <= .debug {
            asked.logger(logger).debug(
                "request answered",
                metadata: [
                    LogKey.method: .string(request.method.rawValue),
                    LogKey.route: .string(match.route?.path ?? MetricLabel.unmatched),
                    LogKey.path: .string(asked.path),
                    LogKey.status: .stringConvertible(answer.status.code),
                ]
            )
        }
        var headers = answer.headers
        headers.append(HTTPField(name: .requestID, value: asked.id))
        let response = Response(status: answer.status, headers: headers, body: answer.body)
        return request.method == .head ? Self.withoutBody(response) : response
    }

    /// The answer to `HEAD`: what `GET` answers, without the body.
    private static func withoutBody(_ response: Response) -> Response {
        var head = response.createHeadResponse()
        // A body that goes on and on has no length, and none must not be said to be empty.
        if response.body.contentLength == nil { head.headers[.contentLength] = nil }
        return head
    }

    /// Whoever asks learns as little as possible until it is known who that is and what they may do.
    private func answer(to asked: AskedRequest, _ match: RouteTable.Match) async throws -> RouteAnswer {
        if let name = asked.fields.repeated { throw Problem.repeatedHeader(name.rawName) }
        try bodyLimit.check(asked.fields, match.route)
        // Open paths pass; everything else needs a key, also a path that does not exist.
        let principal = match.isOpen ? nil : try await authentication.principal(asked.fields)
        let place = if let principal { try limits.admit(principal) } else { OpenRequest?.none }
        // Its body is held in memory until it is answered.
        defer { withExtendedLifetime(place) {} }
        guard let route = match.route else { throw Self.refusal(match.methods) }
        try route.access.check(principal, match.segments)
        let query = try route.readQuery(asked.request.uri.query)
        try match.segments.check()
        let call = RouteCall(
            method: route.method.rawValue,
            path: asked.path,
            principal: principal,
            segments: match.segments,
            query: query,
            body: route.takesBody ? try await bodyLimit.read(asked, route) : [],
            idempotencyHeader: asked.fields.idempotencyKey,
            streaming: StreamTerms(
                accept: asked.fields.accept,
                lastEventID: asked.fields.lastEventID,
                authenticateAgain: { [authentication] in try await authentication.again(asked.fields) },
                hangUp: asked.hangUp
            )
        )
        let caller = principal.map { Caller(keyID: $0.keyID, requestID: asked.id, trace: asked.trace) }
        return try await Caller.$current.withValue(caller) { try await carryOut(call, by: route) }
    }

    /// What a large body asks for would keep the other connections of its event loop waiting.
    private func carryOut(_ call: RouteCall, by route: Route) async throws -> RouteAnswer {
        guard call.isLarge else { return try await route.handler(call) }
        return try await withTaskExecutorPreference(globalConcurrentExecutor) { try await route.handler(call) }
    }

    private var authentication: Authentication { Authentication(service: service) }

    /// 405 where another method would do, else 404.
    private static func refusal(_ methods: [String]) -> any Error {
        if methods.isEmpty { return Problem.notFound("the path") }
        return Refusal(problem: .methodNotAllowed(), headers: [.allow: methods.joined(separator: ", ")])
    }

    /// Turns what is thrown into `application/problem+json`.
    private func outcome(of asked: AskedRequest, _ match: RouteTable.Match) async throws -> RouteAnswer {
        do {
            return try await answer(to: asked, match)
        } catch let refusal as Refusal {
            return .problem(refusal.problem, headers: refusal.headers)
        } catch let problem as Problem {
            return .problem(problem)
        } catch let error as BodyReadError {
            // The server answers what its parser found, and knows that the connection is lost.
            throw error.cause
        } catch is CancellationError {
            return .problem(.unavailable("The server is stopping."))
        } catch {
            if let problem = service.problem(for: error) {
                asked.logger(logger).warning(
                    "request failed",
                    metadata: [LogKey.error: "\(error)", LogKey.status: .stringConvertible(problem.status)]
                )
                return .problem(problem)
            }
            // Errors of this program describe themselves without payloads, tokens and keys.
            asked.logger(logger).error("request failed", metadata: [LogKey.error: "\(error)"])
            var problem = Problem.internalError()
            problem.extra["request_id"] = .string(asked.id)
            return .problem(problem)
        }
    }
}

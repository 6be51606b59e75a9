import APITypes
import HTTP1Server
import HTTPTypes
import JSON
import Logging
import Registry
import Store

/// Answers requests with the steps that all routes share.
struct Responder: Sendable {
    private let table: RouteTable
    private let service: any TallyService
    private let bodyLimit: BodyLimit
    private let limits: RateLimits
    private let logger: Logger

    /// - Parameters:
    ///   - table: the routes.
    ///   - service: identifies callers, and tells outages from bugs.
    ///   - maximumBodySize: the most bytes of a body.
    ///   - limits: how often callers may send requests.
    ///   - logger: gets one line for each failed request, without bodies, keys or tokens.
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

    /// Answers a request, whether it succeeds or fails. Its body may not have arrived yet.
    ///
    /// - Returns: The answer. A refused request gets one, too.
    /// - Throws: Only the reason why a body could not be read to its end. Nobody can get an answer then.
    func respond(to call: HTTPCall) async throws -> HTTPAnswer {
        let began = ContinuousClock.now
        let asked = AskedRequest(call)
        let match = table.match(call.head.method, path: call.path)
        let answer = try await outcome(of: asked, match)
        match.meter.record(status: answer.status.code, began.duration(to: .now))
        // Checked first, because building the log metadata costs time.
        if logger.logLevel <= .debug {
            asked.logger(logger).debug(
                "request answered",
                metadata: [
                    LogKey.method: .string(call.head.method.rawValue),
                    LogKey.route: .string(match.route?.path ?? MetricLabel.unmatched),
                    LogKey.path: .string(call.path),
                    LogKey.status: .stringConvertible(answer.status.code),
                ]
            )
        }
        var headers = answer.headers
        headers.append(HTTPField(name: .requestID, value: asked.id))
        let response = HTTPAnswer(status: answer.status, headers: headers, body: answer.body)
        return call.head.method == .head ? response.withoutBody : response
    }

    /// Runs the checks in an order that reveals as little as possible before the caller is known and permitted.
    private func answer(to asked: AskedRequest, _ match: RouteTable.Match) async throws -> RouteAnswer {
        if let name = asked.fields.repeated { throw Problem.repeatedHeader(name.rawName) }
        try bodyLimit.check(asked.fields, match.route)
        // Open paths need no key. All other paths do, even those that do not exist.
        let principal = match.isOpen ? nil : try await authentication.principal(asked.fields)
        let place = if let principal { try limits.admit(principal) } else { OpenRequest?.none }
        // Counts the request until it is answered, because its body stays in memory until then.
        defer { withExtendedLifetime(place) {} }
        guard let route = match.route else { throw Self.refusal(match.methods) }
        try route.access.check(principal, match.segments)
        let query = try route.readQuery(asked.call.query)
        try match.segments.check()
        let isLines = BodyLimit.isLines(asked.fields, route)
        if isLines { try await bodyLimit.proceed(asked) }
        let call = RouteCall(
            method: route.method.rawValue,
            route: route.path,
            principal: principal,
            segments: match.segments,
            query: query,
            body: route.takesBody && !isLines ? try await bodyLimit.read(asked, route) : [],
            origin: RequestOrigin(requestID: asked.id, trace: asked.trace),
            idempotencyHeader: asked.fields.idempotencyKey,
            streaming: StreamTerms(
                accept: asked.fields.accept,
                lastEventID: asked.fields.lastEventID,
                authenticateAgain: { [authentication] in try await authentication.again(asked.fields) },
                hangUp: { asked.call.hangUp() },
                incoming: isLines ? asked.call : nil,
                longestLine: bodyLimit.size
            )
        )
        guard let keyID = principal?.keyID else { return try await carryOut(call, by: route) }
        return try await Caller(keyID: keyID, requestID: asked.id).acting { try await carryOut(call, by: route) }
    }

    /// Large bodies run on the global executor, because their work would delay the other connections of this event
    /// loop.
    private func carryOut(_ call: RouteCall, by route: Route) async throws -> RouteAnswer {
        guard call.isLarge else { return try await route.handler(call) }
        return try await withTaskExecutorPreference(globalConcurrentExecutor) { try await route.handler(call) }
    }

    private var authentication: Authentication { Authentication(registry: service.registry) }

    /// 405 if the path has another method, otherwise 404.
    private static func refusal(_ methods: [String]) -> any Error {
        if methods.isEmpty { return Problem.notFound("the path") }
        return Refusal(problem: .methodNotAllowed(), headers: [.allow: methods.joined(separator: ", ")])
    }

    /// Turns thrown errors into `application/problem+json`.
    private func outcome(of asked: AskedRequest, _ match: RouteTable.Match) async throws -> RouteAnswer {
        do {
            return try await answer(to: asked, match)
        } catch let refusal as Refusal {
            return .problem(refusal.problem, headers: refusal.headers)
        } catch let problem as Problem {
            return .problem(problem)
        } catch let error as BodyReadError {
            // The HTTP server answers parser errors itself and closes the connection.
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
            // The program's own errors describe themselves without payloads, tokens and keys.
            asked.logger(logger).error("request failed", metadata: [LogKey.error: "\(error)"])
            var problem = Problem.internalError()
            problem.extra["request_id"] = .string(asked.id)
            return .problem(problem)
        }
    }
}

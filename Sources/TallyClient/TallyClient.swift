import APITypes
import Foundation
import JSON
import TLSEngine

/// Calls Tally's HTTP API: one method per route, typed both ways.
///
/// A copy shares the connections. Every call goes on trying until it has an answer or its deadline passes: after a
/// failed connection, and after 429 and 503 at the pace that the server asks for. A POST carries an `Idempotency-Key`,
/// so that a repeated one takes effect once.
package struct TallyClient: Sendable {
    /// Where Tally is and how patient to be.
    package struct Configuration: Sendable {
        /// Such as `http://127.0.0.1:8080`; a path is kept as a prefix.
        package var url: String
        /// The API key; secret. White space around it, such as the end of the line in a file, is not part of it.
        package var key: String
        /// A file of certificates in PEM that are trusted as well as the system's, for https.
        package var caFile: String?
        /// Connections kept open, and so the most requests at a time.
        package var maximumConnections: Int
        /// How long one try may take.
        package var requestTimeout: Duration
        /// How long one call may take with all its tries.
        package var deadline: Duration
        /// Nil: the first failure is final.
        package var retry: RetryPolicy?

        package init(
            url: String,
            key: String,
            caFile: String? = nil,
            maximumConnections: Int = 4,
            requestTimeout: Duration = .seconds(15),
            deadline: Duration = .seconds(30),
            retry: RetryPolicy? = RetryPolicy()
        ) {
            self.url = url
            self.key = key
            self.caFile = caFile
            self.maximumConnections = maximumConnections
            self.requestTimeout = requestTimeout
            self.deadline = deadline
            self.retry = retry
        }
    }

    package private(set) var configuration: Configuration
    private let base: String
    /// The path in ``base``; mostly empty.
    private let prefix: String
    private let transport: HTTPTransport

    /// Connects to nothing yet.
    ///
    /// - Throws: ``ClientError/Code/invalidArgument`` for a key that no request can carry,
    ///   ``ClientError/Code/invalidAddress``, ``ClientError/Code/invalidCAFile``.
    package init(_ configuration: Configuration) throws(ClientError) {
        guard let server = ServerAddress(configuration.url) else {
            throw ClientError(
                code: .invalidAddress,
                detail: "'\(configuration.url)' is not an address like http://127.0.0.1:8080"
            )
        }
        self.configuration = configuration
        self.configuration.key = configuration.key.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !self.configuration.key.isEmpty else {
            throw ClientError(code: .invalidArgument, detail: "the API key is empty")
        }
        try Self.checkHeader(self.configuration.key, "the API key")
        prefix = server.prefix
        base = configuration.url.hasSuffix("/") ? String(configuration.url.dropLast()) : configuration.url
        do {
            transport = try HTTPTransport(
                server: server,
                caFile: configuration.caFile,
                maximumConnections: configuration.maximumConnections
            )
        } catch {
            throw ClientError(code: .invalidCAFile, detail: error.description, cause: error)
        }
    }

    /// The same client with another deadline per call; shares its connections.
    package func withDeadline(_ deadline: Duration) -> TallyClient {
        var copy = self
        copy.configuration.deadline = deadline
        return copy
    }

    /// The same client for calls that take long: it waits so long for one answer. Shares its connections.
    package func withPatience(_ time: Duration) -> TallyClient {
        var copy = withDeadline(time)
        copy.configuration.requestTimeout = time
        return copy
    }

    /// The same client, which tries again until its deadline. Shares its connections.
    func withRetries(_ retry: RetryPolicy = RetryPolicy()) -> TallyClient {
        var copy = self
        copy.configuration.retry = retry
        return copy
    }

    /// So long the server works on one request at most, and so long a proxy before it has to wait.
    static let longestRequest = Duration.seconds(300)

    /// What ends a header, or is not shown, is a slip of the caller's; sent, it would look like a connection that
    /// breaks.
    private static func checkHeader(_ text: String, _ what: String) throws(ClientError) {
        guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            let detail = "\(what) holds a control character, such as the end of a line"
            throw ClientError(code: .invalidArgument, detail: detail)
        }
    }

    /// A key for a POST that the caller may want to repeat itself: 122 random bits.
    package static func newIdempotencyKey() -> String {
        UUID().uuidString.lowercased()
    }
}

// MARK: Calls

extension TallyClient {
    /// Makes the call and reads its answer.
    func answer<Answer: APIAnswer>(_: Answer.Type, to call: APICall) async throws(ClientError) -> Answer {
        try await statusAndAnswer(Answer.self, to: call).answer
    }

    /// Makes the call and reads its answer; the status tells a replay from a first time.
    func statusAndAnswer<Answer: APIAnswer>(
        _: Answer.Type,
        to call: APICall
    ) async throws(ClientError) -> (status: Int, answer: Answer) {
        let answer = try await send(call)
        let json: JSONValue
        do {
            json = try JSONValue.parse(answer.body)
        } catch {
            throw badAnswer(answer, cause: error).mayHaveArrived(call.hasEffect)
        }
        do {
            return (answer.status, try Answer(json: json))
        } catch {
            throw badAnswer(answer, cause: error).mayHaveArrived(call.hasEffect)
        }
    }

    /// Makes a call whose answer has no body that matters.
    func perform(_ call: APICall) async throws(ClientError) {
        _ = try await send(call)
    }

    /// Sends until there is an answer; what is returned has a 2xx status.
    private func send(_ call: APICall) async throws(ClientError) -> HTTPAnswer {
        if case .byKey(let key) = call.repeating { try Self.checkHeader(key, "the idempotency key") }
        let clock = ContinuousClock()
        let end = clock.now + configuration.deadline
        var failures = 0
        // Whether an earlier try may have taken effect.
        var isUnknown = false
        while true {
            let failure: ClientError
            do throws(ClientError) {
                return try await attempt(call, isRepeated: failures > 0, until: end)
            } catch {
                failure = isUnknown ? error.afterUnknownTry() : error
            }
            isUnknown = failure.isUnknown
            guard failure.isRetryable, let retry = configuration.retry else { throw failure }
            failures += 1
            let jitter = Double.random(in: 0...1)
            let wait = retry.delay(afterFailures: failures, jitter: jitter, retryAfter: failure.retryAfter)
            guard clock.now + wait < end else { throw failure }
            do {
                try await clock.sleep(for: wait)
            } catch {
                throw ClientError(code: .cancelled, detail: "cancelled while waiting to try again", cause: error)
                    .mayHaveArrived(isUnknown)
            }
        }
    }

    private func attempt(
        _ call: APICall,
        isRepeated: Bool,
        until end: ContinuousClock.Instant
    ) async throws(ClientError) -> HTTPAnswer {
        let answer: HTTPAnswer
        do {
            answer = try await transport.send(request(for: call), until: end)
        } catch {
            throw clientError(error, of: call)
        }
        if answer.isSuccess { return answer }
        // The first try deleted it, and its answer was lost.
        if isRepeated, call.method == "DELETE", answer.status == 404 { return answer }
        throw refusal(answer, of: call)
    }

    /// Opens an answer that goes on and on. One try.
    func open(_ call: APICall) async throws(ClientError) -> HTTPStream {
        let answer: HTTPAnswer
        do {
            let stream = try await transport.open(request(for: call))
            if stream.head.isSuccess { return stream }
            answer = try await stream.wholeAnswer(within: configuration.requestTimeout)
        } catch {
            throw clientError(error, of: call)
        }
        throw refusal(answer, of: call)
    }

    /// What an answer without success means.
    private func refusal(_ answer: HTTPAnswer, of call: APICall) -> ClientError {
        let problem = problem(in: answer)
        var error: ClientError
        if let problem {
            error = .refused(problem)
        } else if RetryPolicy.proxyStatuses.contains(answer.status) {
            let detail = "what stands before \(base) answered \(answer.status)"
            error = ClientError(code: .unreachable, detail: detail).mayHaveArrived()
        } else {
            error = badAnswer(answer, cause: nil)
        }
        if !call.hasEffect { error = error.withoutEffect() }
        guard RetryPolicy.asksForRetry(status: answer.status, code: problem?.code) else { return error }
        return error.retryable(after: answer.retryAfter ?? problem?.retryAfter)
    }

    private func request(for call: APICall) -> HTTPRequest {
        var headers = [(name: "Authorization", value: "Bearer " + configuration.key)]
        headers.append((name: "Accept", value: call.accept))
        if let id = call.lastEventID { headers.append((name: "Last-Event-ID", value: id)) }
        if call.body != nil { headers.append((name: "Content-Type", value: "application/json")) }
        if case .byKey(let key) = call.repeating { headers.append((name: "Idempotency-Key", value: key)) }
        return HTTPRequest(
            method: call.method,
            target: call.target,
            headers: headers,
            body: call.body?.serialized(),
            timeout: configuration.requestTimeout,
            isRepeatable: call.isRepeatable
        )
    }

    private func problem(in answer: HTTPAnswer) -> Problem? {
        // Whatever else answers here need not speak JSON: no problem then, which the caller reports.
        guard let json = try? JSONValue.parse(answer.body), var problem = try? Problem(json: json) else { return nil }
        problem.retryAfter = problem.retryAfter ?? answer.retryAfter
        if let advice = advice(on: problem) { problem.detail += " " + advice }
        return problem
    }

    /// What to do where Tally does not know a path: its end is this client's, so it is the beginning that is wrong.
    private func advice(on problem: Problem) -> String? {
        let unknown = Problem.notFound("the path")
        guard problem.code == unknown.code, problem.detail == unknown.detail, !prefix.isEmpty else { return nil }
        // Not cut off beforehand: it may be what a proxy serves Tally under.
        let end = "/v1"
        guard prefix.hasSuffix(end) else { return "Does '\(prefix)' belong to Tally's address, \(base)?" }
        return "'\(end)' is no part of Tally's address: say \(base.dropLast(end.count))."
    }

    private func badAnswer(_ answer: HTTPAnswer, cause: (any Error)?) -> ClientError {
        ClientError(
            code: .badAnswer,
            detail: "\(base) answered \(answer.status) with something that is not Tally's",
            cause: cause
        ).mayHaveArrived()
    }

    /// What a failure without an answer means for the call.
    func clientError(_ failure: HTTPFailure, of call: APICall) -> ClientError {
        switch failure {
        case .notSent(let cause as TLSError):
            ClientError(
                code: .unreachable,
                detail: "\(base) does not answer in TLS, as https asks for: \(cause)",
                cause: cause
            ).retryable()
        case .notSent(let cause):
            ClientError(code: .unreachable, detail: "\(base) cannot be reached", cause: cause).retryable()
        case .untrusted(let cause):
            ClientError(code: .untrusted, detail: "\(base) is not to be trusted: \(cause)", cause: cause)
        case .interrupted(let cause):
            unanswered(call, .unreachable, "the connection to \(base) broke before an answer", cause)
        case .timedOut:
            unanswered(call, .timedOut, "\(base) did not answer in time")
        case .cancelled:
            ClientError(code: .cancelled, detail: "cancelled before an answer").mayHaveArrived(call.hasEffect)
        }
    }

    /// What a call may have done that brought no answer.
    private func unanswered(
        _ call: APICall,
        _ code: ClientError.Code,
        _ detail: String,
        _ cause: (any Error)? = nil
    ) -> ClientError {
        let error = ClientError(code: code, detail: detail, cause: cause).mayHaveArrived(call.hasEffect)
        return call.isRepeatable ? error.retryable() : error
    }
}

import APITypes
import Foundation
import JSON
import TLSEngine

/// Calls Tally's HTTP API: one method per route, with typed requests and answers.
///
/// Copies share the connections. Each call retries until it has an answer or its deadline passes: after a failed
/// connection, and after 429 and 503 when the server allows it. A POST has an `Idempotency-Key`, so that its repeats
/// take effect once.
package struct TallyClient: Sendable {
    /// The address of Tally, and the timeouts.
    package struct Configuration: Sendable {
        /// Such as `http://127.0.0.1:8080`. A path in it becomes the prefix of all paths.
        package var url: String
        /// The secret API key. White space around it, such as the line end in a file, is removed.
        package var key: String
        /// A PEM file with certificates to trust besides the system's, for https.
        package var caFile: String?
        /// The most open connections, and so the most simultaneous requests.
        package var maximumConnections: Int
        /// The timeout of one try.
        package var requestTimeout: Duration
        /// The longest duration of one call with all its tries.
        package var deadline: Duration
        /// Nil: no retries.
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
    /// The path in ``base``; usually empty.
    private let prefix: String
    private let transport: HTTPTransport

    /// Opens no connection yet.
    ///
    /// - Throws: ``ClientError/Code/invalidArgument`` if the key cannot be sent in a header,
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

    /// The same client with another deadline per call. It shares the connections.
    package func withDeadline(_ deadline: Duration) -> TallyClient {
        var copy = self
        copy.configuration.deadline = deadline
        return copy
    }

    /// The same client with another timeout for one answer, for slow calls. It shares the connections.
    package func withPatience(_ time: Duration) -> TallyClient {
        var copy = withDeadline(time)
        copy.configuration.requestTimeout = time
        return copy
    }

    /// The same client with retries until its deadline. It shares the connections.
    func withRetries(_ retry: RetryPolicy = RetryPolicy()) -> TallyClient {
        var copy = self
        copy.configuration.retry = retry
        return copy
    }

    /// The longest time that the server works on one request. A proxy in front of it needs at least this timeout.
    static let longestRequest = Duration.seconds(300)

    /// Refuses control and other invisible characters in a header. If they were sent, the failure would look like a
    /// broken connection.
    private static func checkHeader(_ text: String, _ what: String) throws(ClientError) {
        guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            let detail = "\(what) holds a control character, such as the end of a line"
            throw ClientError(code: .invalidArgument, detail: detail)
        }
    }

    /// A key for a POST that the caller repeats itself: 122 random bits.
    package static func newIdempotencyKey() -> String {
        UUID().uuidString.lowercased()
    }
}

// MARK: Calls

extension TallyClient {
    /// Makes the call and reads its answer.
    func answer<Answer: APIAnswer>(_: Answer.Type = Answer.self, to call: APICall) async throws(ClientError) -> Answer {
        try await statusAndAnswer(Answer.self, to: call).answer
    }

    /// Makes the call and reads its answer. The status shows whether it is a repeat.
    func statusAndAnswer<Answer: APIAnswer>(
        _: Answer.Type,
        to call: APICall
    ) async throws(ClientError) -> (status: Int, answer: Answer) {
        let reply = try await send(call)
        return (reply.status, try read(Answer.self, in: reply, of: call))
    }

    private func read<Answer: APIAnswer>(
        _: Answer.Type,
        in answer: HTTPReply,
        of call: APICall
    ) throws(ClientError) -> Answer {
        let json: JSONValue
        do {
            json = try JSONValue.parse(answer.body)
        } catch {
            throw badAnswer(answer, cause: error).mayHaveArrived(call.hasEffect)
        }
        do {
            return try Answer(json: json)
        } catch {
            throw badAnswer(answer, cause: error).mayHaveArrived(call.hasEffect)
        }
    }

    /// Makes a call whose answer's body does not matter.
    func perform(_ call: APICall) async throws(ClientError) {
        _ = try await send(call)
    }

    /// Sends until there is an answer. The returned answer has a 2xx status.
    private func send(_ call: APICall) async throws(ClientError) -> HTTPReply {
        try await retrying(call) { (isRepeated, end) async throws(ClientError) in
            try await attempt(call, isRepeated: isRepeated, until: end)
        }
    }

    /// Makes tries until one succeeds, the deadline passes, or a failure is final.
    private func retrying<Value>(
        _ call: APICall,
        _ attempt: (_ isRepeated: Bool, _ end: ContinuousClock.Instant) async throws(ClientError) -> Value
    ) async throws(ClientError) -> Value {
        if case .byKey(let key) = call.repeating { try Self.checkHeader(key, "the idempotency key") }
        let clock = ContinuousClock()
        let end = clock.now + configuration.deadline
        var failures = 0
        // Whether an earlier try may have taken effect.
        var isUnknown = false
        while true {
            let failure: ClientError
            do throws(ClientError) {
                return try await attempt(failures > 0, end)
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
    ) async throws(ClientError) -> HTTPReply {
        let answer: HTTPReply
        do {
            answer = try await transport.send(request(for: call), until: end)
        } catch {
            throw clientError(error, of: call)
        }
        if answer.isSuccess { return answer }
        // An earlier try deleted it, but its answer was lost.
        if isRepeated, call.method == "DELETE", answer.status == 404 { return answer }
        throw refusal(answer, of: call)
    }

    /// Opens a streaming answer, without retries.
    func open(_ call: APICall) async throws(ClientError) -> HTTPStream {
        let answer: HTTPReply
        do {
            let stream = try await transport.open(request(for: call))
            if stream.head.isSuccess { return stream }
            answer = try await stream.wholeAnswer(within: configuration.requestTimeout)
        } catch {
            throw clientError(error, of: call)
        }
        throw refusal(answer, of: call)
    }

    /// Opens a call whose body follows part by part. Retries until the server takes the connection.
    func upload(_ call: APICall) async throws(ClientError) -> HTTPUpload {
        try await retrying(call) { (_, _) async throws(ClientError) in
            do throws(HTTPFailure) {
                return try await transport.upload(request(for: call))
            } catch {
                throw clientError(error, of: call)
            }
        }
    }

    /// Waits for the answer to a call whose body is being sent.
    func answer<Answer: APIAnswer>(
        _: Answer.Type,
        to call: APICall,
        by upload: HTTPUpload
    ) async throws(ClientError) -> Answer {
        let answer: HTTPReply
        do {
            answer = try await upload.answer(within: configuration.requestTimeout)
        } catch {
            throw clientError(error, of: call)
        }
        guard answer.isSuccess else { throw refusal(answer, of: call) }
        return try read(Answer.self, in: answer, of: call)
    }

    /// The error for an answer without success.
    private func refusal(_ answer: HTTPReply, of call: APICall) -> ClientError {
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
        if let type = call.streamedBody { headers.append((name: "Content-Type", value: type)) }
        if case .byKey(let key) = call.repeating { headers.append((name: "Idempotency-Key", value: key)) }
        var request = HTTPRequest(
            method: call.method,
            target: call.target,
            headers: headers,
            body: call.body?.serialized(),
            timeout: configuration.requestTimeout,
            isRepeatable: call.isRepeatable
        )
        request.streamsBody = call.streamedBody != nil
        return request
    }

    private func problem(in answer: HTTPReply) -> Problem? {
        // Another service at this address may not send JSON. The caller then reports that.
        guard let json = try? JSONValue.parse(answer.body), var problem = try? Problem(json: json) else { return nil }
        problem.retryAfter = problem.retryAfter ?? answer.retryAfter
        if let advice = advice(on: problem) { problem.detail += " " + advice }
        return problem
    }

    /// Advice if Tally does not know a path. The client adds the end of every path, so the prefix must be wrong.
    private func advice(on problem: Problem) -> String? {
        let unknown = Problem.notFound("the path")
        guard problem.code == unknown.code, problem.detail == unknown.detail, !prefix.isEmpty else { return nil }
        // Not removed silently, because a proxy may serve Tally under this prefix.
        let end = "/v1"
        guard prefix.hasSuffix(end) else { return "Does '\(prefix)' belong to Tally's address, \(base)?" }
        return "'\(end)' is no part of Tally's address: say \(base.dropLast(end.count))."
    }

    private func badAnswer(_ answer: HTTPReply, cause: (any Error)?) -> ClientError {
        ClientError(
            code: .badAnswer,
            detail: "\(base) answered \(answer.status) with something that is not Tally's",
            cause: cause
        ).mayHaveArrived()
    }

    /// The error for a failure without an answer.
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

    /// The error for a call without an answer, which may have taken effect.
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

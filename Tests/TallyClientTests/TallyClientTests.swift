import APITypes
import ActivityModel
import JSON
import TestSupport
import Testing

@testable import TallyClient

private let app = BundleID(stored: "com.example.matchday")
private let match = ActivityID(stored: "match-1")
private let phone = DeviceID(stored: "phone-1")
private let accepted = #"{"activity_id":"match-1","revision":2,"timestamp":null}"#
private let goal = UpdateRequest(contentState: ["homeScore": 1])

@Suite("Tally client")
struct TallyClientTests {
    /// Runs `body` with a client of a scripted server.
    private func withServer(
        requestTimeout: Duration = .seconds(120),
        deadline: Duration = .seconds(300),
        connections: Int = 4,
        script: @escaping @Sendable (Int, ScriptedServer.Received) -> ScriptedServer.Reply,
        _ body: (TallyClient, ScriptedServer) async throws -> Void
    ) async throws {
        let server = try ScriptedServer(script: script)
        defer { server.stop() }
        let client = try TallyClient(
            .init(
                url: server.url + "/",
                key: "secret-key",
                maximumConnections: connections,
                requestTimeout: requestTimeout,
                deadline: deadline,
                retry: RetryPolicy(firstDelay: .milliseconds(1), longestDelay: .milliseconds(4))
            )
        )
        try await body(client, server)
    }

    private func problem(_ problem: Problem, headers: [String: String] = [:]) -> ScriptedServer.Reply {
        .answer(status: problem.status, headers: headers, body: problem.json.text)
    }

    @Test("a look is never in doubt; what it asked for may come later")
    func look() async throws {
        let script: @Sendable (Int, ScriptedServer.Received) -> ScriptedServer.Reply = { number, _ in
            number == 0 ? .hangUp : .answer(status: 504, headers: ["Retry-After": "3600"], body: "")
        }
        try await withServer(script: script) { client, _ in
            let error = try await #require(throws: ClientError.self) { try await client.activity(app, match) }
            #expect(error.code == .unreachable && error.isRetryable && !error.isUnknown)
        }
    }

    @Test("a request carries method, path, key and body, and its answer is typed")
    func oneRequest() async throws {
        try await withServer { _, _ in
            .answer(status: 202, body: accepted)
        } _: { client, server in
            let answer = try await client.update(app, match, goal)
            #expect(answer == .accepted(activityID: match, revision: 2, timestamp: nil, unchanged: false))
            let request = try #require(server.received.first)
            #expect(request.method == "POST")
            #expect(request.target == "/v1/apps/com.example.matchday/activities/match-1/updates")
            #expect(request.headers["authorization"] == "Bearer secret-key")
            #expect(request.headers["content-type"] == "application/json")
            #expect(request.headers["idempotency-key"]?.isEmpty == false)
            #expect(request.body == #"{"content_state":{"homeScore":1}}"#)
        }
    }

    @Test("connections are kept")
    func connectionsAreKept() async throws {
        try await withServer { _, _ in
            .answer(status: 202, body: accepted)
        } _: { client, server in
            for _ in 0..<5 { _ = try await client.update(app, match, goal) }
            #expect(server.received.count == 5)
            #expect(Set(server.received.map(\.connection)) == [0])
        }
    }

    @Test("each call has an idempotency key of its own, unless the caller has one")
    func keys() async throws {
        try await withServer { _, _ in
            .answer(status: 202, body: accepted)
        } _: { client, server in
            _ = try await client.update(app, match, goal)
            _ = try await client.update(app, match, goal)
            _ = try await client.end(app, match, EndRequest(), idempotencyKey: "mine")
            let keys = server.received.compactMap { $0.headers["idempotency-key"] }
            #expect(Set(keys).count == 3)
            #expect(keys.last == "mine")
        }
    }

    @Test("a reconcile needs no key: carried out twice, it does no harm")
    func reconcile() async throws {
        let report = ChannelReport(environment: .sandbox, dryRun: true, atApple: 0, known: 0, unused: 0, creating: 0)
        try await withServer { number, _ in
            number == 0 ? .hangUp : .answer(status: 200, body: report.json.text)
        } _: { client, server in
            let request = ReconcileRequest(environment: .sandbox, dryRun: true)
            let answer = try await client.reconcileChannels(app, request)
            #expect(answer == report)
            #expect(server.received.map(\.target).last == "/v1/apps/com.example.matchday/channels/reconcile")
            #expect(server.received.map(\.body).last == #"{"environment":"sandbox","dry_run":true}"#)
            #expect(server.received.allSatisfy { $0.headers["idempotency-key"] == nil })
        }
    }

    @Test("503 and 429 are tried again with the same key")
    func later() async throws {
        let script: @Sendable (Int, ScriptedServer.Received) -> ScriptedServer.Reply = { number, _ in
            switch number {
            case 0:
                .answer(status: 503, headers: ["Retry-After": "0"], body: Problem.unavailable(retryAfter: 0).json.text)
            case 1: .answer(status: 429, headers: ["Retry-After": "0"], body: "")
            case 2: .answer(status: 502, body: "<html>Bad gateway</html>")
            case 3: .answer(status: 409, body: Problem.idempotencyInProgress(retryAfter: 0).json.text)
            default: .answer(status: 202, body: accepted)
            }
        }
        try await withServer(script: script) { client, server in
            _ = try await client.update(app, match, goal)
            #expect(server.received.count == 5)
            #expect(Set(server.received.map { $0.headers["idempotency-key"] }).count == 1)
            #expect(Set(server.received.map(\.body)).count == 1)
        }
    }

    @Test("a connection that breaks before the answer is followed by the same request on another")
    func brokenConnection() async throws {
        try await withServer { number, _ in
            number < 2 ? .hangUp : .answer(status: 202, body: accepted)
        } _: { client, server in
            _ = try await client.update(app, match, goal)
            #expect(Set(server.received.map { $0.headers["idempotency-key"] }).count == 1)
            #expect(Set(server.received.map(\.connection)).count >= 2)
        }
    }

    @Test("a refusal is thrown at once with its code and pointers")
    func refusal() async throws {
        let error = FieldError(pointer: JSONPointer(tokens: ["homeScore"]), code: "type", message: "No integer.")
        let refusal = Problem.invalidContentState([error])
        try await withServer { _, _ in
            problem(refusal)
        } _: { client, server in
            let error = try await #require(throws: ClientError.self) { try await client.update(app, match, goal) }
            #expect(error.code == .refused)
            #expect(error.problem == refusal)
            #expect(server.received.count == 1)
        }
    }

    @Test("a wait that the server asks for and that does not fit the deadline is not begun")
    func retryAfterBeyondDeadline() async throws {
        try await withServer(deadline: .seconds(55)) { _, _ in
            problem(.tooManyMustDeliver(limit: 8, retryAfter: 60), headers: ["Retry-After": "60"])
        } _: { client, server in
            let error = try await #require(throws: ClientError.self) { try await client.update(app, match, goal) }
            #expect(error.problem?.code == "too_many_must_deliver")
            #expect(error.problem?.retryAfter == 60)
            #expect(server.received.count == 1)
        }
    }

    @Test("the making of a key is never repeated after it may have arrived")
    func creationOfKeys() async throws {
        try await withServer { _, _ in
            .hangUp
        } _: { client, server in
            let request = APIKeyRequest(name: "a", scopes: [.read])
            let error = try await #require(throws: ClientError.self) { try await client.createKey(request) }
            #expect(error.code == .unreachable)
            #expect(server.received.count == 1)
            #expect(server.received[0].headers["idempotency-key"] == nil)
        }
    }

    @Test("a deletion whose answer was lost and that is gone at the second try is done")
    func repeatedDeletion() async throws {
        try await withServer { number, _ in
            number == 0 ? .hangUp : problem(.notFound("the app"))
        } _: { client, server in
            try await client.deleteDevice(app, phone)
            #expect(server.received.map(\.method) == ["DELETE", "DELETE"])
        }
    }

    @Test("the deletion of an app goes on while it is cut off, also by a client that never tries again otherwise")
    func longDeletion() async throws {
        let resource = AppResource(
            bundleID: app,
            teamID: TeamID(stored: "TEAM567890"),
            channelsExclusive: false,
            channelPool: 0,
            environments: [:],
            createdAt: Instant(unixSeconds: 0),
            updatedAt: Instant(unixSeconds: 0)
        )
        let server = try ScriptedServer { number, _ in
            switch number {
            case 0: .answer(status: 200, body: resource.json.text)
            // As the daemon ends what takes too long, as a proxy does, and as a daemon that has just lost its database.
            case 1: .hangUp
            case 2: .answer(status: 504, body: "<html>")
            case 3: problem(.unavailable())
            default: problem(.notFound("the app"))
            }
        }
        defer { server.stop() }
        let client = try TallyClient(.init(url: server.url, key: "k", retry: nil))
        try await client.deleteApp(app, deadline: .seconds(300))
        #expect(server.received.map(\.method) == ["GET", "DELETE", "DELETE", "DELETE", "DELETE"])
        #expect(server.received.last?.target == "/v1/apps/\(app)?confirm=\(app)")
    }

    @Test("the deletion of an app that is not there, or of one in use, is refused at once")
    func refusedDeletion() async throws {
        try await withServer { _, _ in
            problem(.notFound("the app"))
        } _: { client, server in
            let error = try await #require(throws: ClientError.self) { try await client.deleteApp(app) }
            #expect(error.problem?.status == 404)
            #expect(server.received.map(\.method) == ["GET"])
        }
        let away = try TallyClient(
            .init(url: "http://127.0.0.1:\(try ScriptedServer.closedPort())", key: "k", retry: nil)
        )
        let error = try await #require(throws: ClientError.self) { try await away.deleteApp(app) }
        #expect(error.code == .unreachable)
    }

    @Test("a deletion of what was never there is refused")
    func deletionOfNothing() async throws {
        try await withServer { _, _ in
            problem(.notFound("the app"))
        } _: { client, _ in
            let error = try await #require(throws: ClientError.self) { try await client.deleteDevice(app, phone) }
            #expect(error.problem?.code == "not_found")
        }
    }

    @Test("a call ends with its deadline, also while all connections are in use")
    func deadlineInLine() async throws {
        try await withServer(requestTimeout: .seconds(300)) { _, _ in
            .silence
        } _: { client, server in
            let others = (0..<4).map { _ in Task { try await client.activity(app, match) } }
            defer { others.forEach { $0.cancel() } }
            try await eventually("all connections are in use", every: .milliseconds(5)) { server.received.count == 4 }
            let hurried = client.withDeadline(.milliseconds(50))
            let error = try await #require(throws: ClientError.self) { try await hurried.activity(app, match) }
            #expect(error.code == .timedOut)
            #expect(server.received.count == 4)
        }
    }

    @Test("a call ends with its deadline, also while it connects to a server that does not even refuse")
    func deadlineWhileConnecting() async throws {
        let full = try FullListener()
        defer { full.close() }
        let client = try TallyClient(
            .init(url: "http://\(full.address)", key: "secret-key", deadline: .milliseconds(300), retry: nil)
        )
        let start = ContinuousClock.now
        let error = try await #require(throws: ClientError.self) { try await client.activity(app, match) }
        #expect(error.code == .timedOut)
        #expect(start.duration(to: .now) < .seconds(9), "an attempt to connect alone may take ten")
    }

    @Test("an answer that is not Tally's is told apart", arguments: ["", "<html>", "{}", #"{"activity_id":7}"#])
    func foreignAnswers(body: String) async throws {
        try await withServer { _, _ in
            .answer(status: 200, body: body)
        } _: { client, _ in
            let error = try await #require(throws: ClientError.self) { try await client.activity(app, match) }
            #expect(error.code == .badAnswer)
        }
    }

    @Test(
        "a path that Tally does not know is the fault of the address, where that has a path",
        arguments: [
            ("/v1", "'/v1' is no part of Tally's address: say SERVER."),
            ("/v1/", "'/v1' is no part of Tally's address: say SERVER."),
            ("/tally/v1", "'/v1' is no part of Tally's address: say SERVER/tally."),
            ("/tally", "Does '/tally' belong to Tally's address, SERVER/tally?"), ("/", nil), ("", nil),
        ]
    )
    func pathInAddress(path: String, advice: String?) async throws {
        let unknown = Problem.notFound("the path")
        let server = try ScriptedServer { number, _ in
            let problem = number == 0 ? unknown : Problem.notFound("the app")
            return .answer(status: 404, body: problem.json.text)
        }
        defer { server.stop() }
        let client = try TallyClient(.init(url: server.url + path, key: "k", retry: nil))
        let error = try await #require(throws: ClientError.self) { try await client.activity(app, match) }
        let advice = advice.map { " " + $0.replacing("SERVER", with: server.url) } ?? ""
        #expect(error.problem?.code == "not_found")
        #expect(error.problem?.detail == unknown.detail + advice)
        let other = try await #require(throws: ClientError.self) { try await client.activity(app, match) }
        #expect(other.problem == Problem.notFound("the app"))
    }

    @Test("an error status without a problem is not Tally's either")
    func foreignError() async throws {
        try await withServer { _, _ in
            .answer(status: 404, body: "not here")
        } _: { client, _ in
            let error = try await #require(throws: ClientError.self) { try await client.activity(app, match) }
            #expect(error.code == .badAnswer)
            #expect(error.problem == nil)
        }
    }

    @Test("a server that says nothing runs into the timeout")
    func silence() async throws {
        try await withServer(requestTimeout: .seconds(3), deadline: .seconds(2)) { _, _ in
            .silence
        } _: { client, _ in
            let error = try await #require(throws: ClientError.self) { try await client.activity(app, match) }
            #expect(error.code == .timedOut)
        }
    }

    @Test("an answer that stops in its middle runs into the timeout, too, and one without an end is cut off")
    func stuckAnswers() async throws {
        try await withServer(requestTimeout: .seconds(3), deadline: .seconds(2)) { _, _ in
            .stream(["{"], .silence)
        } _: { client, _ in
            let error = try await #require(throws: ClientError.self) { try await client.activity(app, match) }
            #expect(error.code == .timedOut)
        }
        let blanks = String(repeating: " ", count: 1 << 20)
        let server = try ScriptedServer { _, _ in .stream(Array(repeating: blanks, count: 1_000), .end) }
        defer { server.stop() }
        let client = try TallyClient(
            .init(url: server.url, key: "k", requestTimeout: .seconds(120), deadline: .seconds(300), retry: nil)
        )
        let error = try await #require(throws: ClientError.self) { try await client.activity(app, match) }
        #expect(error.code == .unreachable)
    }

    @Test("a connection that the server has ended while it rested is no failure, without retries either")
    func restingConnections() async throws {
        let server = try ScriptedServer { number, _ in
            // The second request on the first connection finds it over.
            number == 1 ? .hangUp : .answer(status: 202, body: accepted)
        }
        defer { server.stop() }
        let client = try TallyClient(
            .init(url: server.url, key: "k", requestTimeout: .seconds(120), deadline: .seconds(300), retry: nil)
        )
        _ = try await client.update(app, match, goal, idempotencyKey: "a")
        _ = try await client.update(app, match, goal, idempotencyKey: "b")
        #expect(server.received.map { $0.headers["idempotency-key"] } == ["a", "b", "b"])
    }

    @Test("without retries the first failure is final")
    func noRetries() async throws {
        let port = try ScriptedServer.closedPort()
        let client = try TallyClient(.init(url: "http://127.0.0.1:\(port)", key: "k", retry: nil))
        let error = try await #require(throws: ClientError.self) { try await client.activity(app, match) }
        #expect(error.code == .unreachable)
    }

    @Test("a server that is away is waited for, and one that comes back is answered by")
    func restart() async throws {
        let port = try ScriptedServer.closedPort()
        let client = try TallyClient(
            .init(
                url: "http://127.0.0.1:\(port)",
                key: "k",
                deadline: .seconds(300),
                retry: RetryPolicy(firstDelay: .milliseconds(1), longestDelay: .milliseconds(20))
            )
        )
        async let call = client.update(app, match, goal)
        // Somewhere between the first tries, or before them: the call must come through in either case.
        let server = try ScriptedServer(port: port) { _, _ in .answer(status: 202, body: accepted) }
        defer { server.stop() }
        #expect(try await call == .accepted(activityID: match, revision: 2, timestamp: nil, unchanged: false))
    }

    @Test("at most as many requests are under way as there are connections, and all get through")
    func gate() async throws {
        try await withServer(connections: 3) { _, _ in
            .answer(status: 202, body: accepted)
        } _: { client, server in
            try await withThrowingTaskGroup { group in
                for _ in 0..<60 { group.addTask { _ = try await client.update(app, match, goal) } }
                try await group.waitForAll()
            }
            #expect(server.received.count == 60)
            #expect(server.peak <= 3)
            #expect(Set(server.received.map(\.connection)).count <= 3)
        }
    }

    @Test("a cancelled call ends")
    func cancellation() async throws {
        try await withServer { _, _ in
            .silence
        } _: { client, _ in
            let call = Task { try await client.activity(app, match) }
            call.cancel()
            let error = try await #require(throws: ClientError.self) { try await call.value }
            #expect(error.code == .cancelled)
        }
    }

    @Test("a start says whether it was accepted before", arguments: [(202, false), (200, true)])
    func replay(status: Int, replay: Bool) async throws {
        let body =
            #"{"activity_id":"match-1","state":"live","revision":1,"timestamp":5,"audience":{"devices":2,"unknown_users":0}}"#
        try await withServer { _, _ in
            .answer(status: status, body: body)
        } _: { client, server in
            let request = StartRequest(
                type: ActivityTypeName(stored: "Game"),
                attributes: [:],
                contentState: [:]
            )
            let result = try await client.start(app, match, request)
            #expect(result.replay == replay)
            #expect(result.answer.timestamp == 5)
            #expect(server.received.first?.method == "PUT")
        }
    }

    @Test(
        "what is not an http address is refused",
        arguments: [
            "", "localhost:8080", "ftp://a", "http://", "http:///x", "8080", "http://me@a", "http://a?b=c",
            "http://a/#b",
        ]
    )
    func addresses(url: String) {
        #expect { try TallyClient(.init(url: url, key: "k")) } throws: { error in
            (error as? ClientError)?.code == .invalidAddress
        }
    }
}

@Suite("Request gate")
struct RequestGateTests {
    /// A task that has come to wait as number `place` in line.
    private func waiter(_ gate: RequestGate, place: Int) async -> Task<Bool, Never> {
        let task = Task { await gate.enter() }
        while gate.waitingCount < place { await Task.yield() }
        return task
    }

    @Test("it lets its width through and keeps the others in line")
    func width() async {
        let gate = RequestGate(width: 2)
        #expect(await gate.enter())
        #expect(await gate.enter())
        let third = await waiter(gate, place: 1)
        #expect(gate.waitingCount == 1)
        gate.leave()
        #expect(await third.value)
        #expect(gate.waitingCount == 0)
    }

    @Test("a place goes to the first in line, and those who are cancelled leave the line")
    func order() async {
        let gate = RequestGate(width: 1)
        #expect(await gate.enter())
        let first = await waiter(gate, place: 1)
        let second = await waiter(gate, place: 2)
        first.cancel()
        #expect(await first.value == false)
        #expect(gate.waitingCount == 1)
        gate.leave()
        #expect(await second.value)
        gate.leave()
        #expect(await gate.enter())
    }

    @Test("who has not come to its turn in time leaves the line")
    func late() async {
        let gate = RequestGate(width: 1)
        #expect(await gate.enter(until: .now + .seconds(300)))
        #expect(await gate.enter(until: .now) == false)
        #expect(gate.waitingCount == 0)
        gate.leave()
        #expect(await gate.enter(until: .now + .seconds(300)))
    }

    @Test("who is cancelled before it comes gets no place")
    func cancelledBefore() async {
        let gate = RequestGate(width: 1)
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return await gate.enter()
        }
        task.cancel()
        #expect(await task.value == false)
        #expect(await gate.enter())
    }
}

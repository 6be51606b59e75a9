import APITypes
import Foundation
import JSON
import TallyClient
import Testing

/// The face for backends: Codable structs in, the API's bodies out.
@Suite("Tally for backends")
struct TallyBackendTests {
    private struct Order: Encodable, Sendable {
        var number: String
    }

    private struct Progress: Encodable, Sendable {
        var step: String
        var eta: Date
    }

    private static let eta = Date(timeIntervalSince1970: 1_671_375_600)
    private static let progress = Progress(step: "baking", eta: eta)
    private static let accepted = #"{"activity_id":"o-1","revision":2,"timestamp":null}"#

    private func withBackend(
        script: @escaping @Sendable (Int, ScriptedServer.Received) -> ScriptedServer.Reply,
        _ body: (TallyBackend, ScriptedServer) async throws -> Void
    ) async throws {
        let server = try ScriptedServer(script: script)
        defer { server.stop() }
        let backend = try TallyBackend(
            url: server.url,
            key: "secret",
            app: "com.example.pizza",
            // Whether a request comes through is what is tried here, not how long a busy machine takes for it.
            deadline: .seconds(300)
        )
        try await body(backend, server)
    }

    @Test("a start carries attributes, state, audience and alert; dates leave as RFC 3339")
    func start() async throws {
        let answer = #"{"activity_id":"o-1","state":"live","revision":1,"audience":{"devices":1,"unknown_users":0}}"#
        try await withBackend { _, _ in
            .answer(status: 202, body: answer)
        } _: { tally, server in
            var options = StartOptions()
            options.users = ["u1"]
            options.delivery = .hybrid
            options.alert = ChangeAlert(title: "Order", body: "In the oven", sound: "default")
            options.endsAt = Self.eta
            let change = try await tally.start(
                "o-1",
                type: "OrderAttributes",
                attributes: Order(number: "7"),
                contentState: Self.progress,
                options: options
            )
            #expect(change.revision == 1)
            let request = try #require(server.received.first)
            #expect(request.method == "PUT")
            #expect(request.target == "/v1/apps/com.example.pizza/activities/o-1")
            let body = try JSONValue(parsing: request.body)
            #expect(body["attributes"] == ["number": "7"])
            #expect(body["content_state"] == ["step": "baking", "eta": "2022-12-18T15:00:00Z"])
            #expect(body["audience"]?["users"]?.array == ["u1"])
            #expect(body["delivery"]?.string == "hybrid")
            #expect(body["alert"]?["sound"]?.string == "default")
            #expect(body["ends_at"]?.string == "2022-12-18T15:00:00Z")
            #expect(body["urgency"] == nil && body["relevance_score"] == nil)
            #expect(try StartRequest(json: body).alert != nil, "the server takes it")
        }
    }

    @Test("dates keep their fractions of a second; one that is none is refused before anything is sent")
    func dates() async throws {
        try await withBackend { _, _ in
            .answer(status: 202, body: Self.accepted)
        } _: { tally, server in
            _ = try await tally.update("o-1", contentState: Progress(step: "baking", eta: Self.eta + 0.25))
            let body = try JSONValue(parsing: try #require(server.received.first).body)
            #expect(body["content_state"]?["eta"]?.string == "2022-12-18T15:00:00.250Z")
            let sent = server.received.count
            let never = Progress(step: "baking", eta: Date(timeIntervalSince1970: .infinity))
            let error = try await #require(throws: TallyError.self) {
                try await tally.update("o-1", contentState: never)
            }
            #expect(error.code == "invalid_argument")
            #expect(server.received.count == sent)
        }
    }

    @Test(
        "an option whose date is none is refused by its name, before anything is sent",
        arguments: [Double.nan, .infinity, -.infinity, 1e18]
    )
    func badOptions(seconds: Double) async throws {
        let date = Date(timeIntervalSince1970: seconds)
        let state = Progress(step: "baking", eta: Self.eta)
        try await withBackend { _, _ in
            .answer(status: 202, body: Self.accepted)
        } _: { tally, server in
            func refused(_ name: String, _ post: () async throws(TallyError) -> AcceptedChange) async throws {
                let error = try await #require(throws: TallyError.self) { _ = try await post() }
                #expect(error.code == "invalid_argument")
                #expect(error.detail.hasPrefix(name), "\(error.detail)")
            }
            for (name, field) in [("startsAt", \StartOptions.startsAt), ("endsAt", \.endsAt)] {
                var options = StartOptions()
                options[keyPath: field] = date
                try await refused(name) { () async throws(TallyError) in
                    try await tally.start(
                        "o-1",
                        type: "Order",
                        attributes: state,
                        contentState: state,
                        options: options
                    )
                }
            }
            for (name, field) in [("eventTime", \UpdateOptions.eventTime), ("at", \.at)] {
                var options = UpdateOptions()
                options[keyPath: field] = date
                try await refused(name) { () async throws(TallyError) in
                    try await tally.update("o-1", contentState: state, options: options)
                }
            }
            for (name, field) in [("dismissAt", \EndOptions.dismissAt), ("at", \.at)] {
                var options = EndOptions()
                options[keyPath: field] = date
                try await refused(name) { () async throws(TallyError) in try await tally.end("o-1", options: options) }
            }
            #expect(server.received.isEmpty)
        }
    }

    @Test("a score that is no number, and an end with two times to dismiss it, are refused before anything is sent")
    func contradictions() async throws {
        try await withBackend { _, _ in
            .answer(status: 202, body: Self.accepted)
        } _: { tally, server in
            for score in [Double.nan, .infinity] {
                var options = UpdateOptions()
                options.relevanceScore = score
                let given = options
                let error = try await #require(throws: TallyError.self) {
                    try await tally.update("o-1", contentState: Self.progress, options: given)
                }
                #expect(error.code == "invalid_argument" && error.detail.hasPrefix("relevanceScore"))
            }
            var options = EndOptions()
            options.dismissAt = Self.eta
            options.dismissAfterSeconds = 0
            let given = options
            let error = try await #require(throws: TallyError.self) {
                try await tally.end("o-1", options: given)
            }
            #expect(error.code == "invalid_argument" && error.detail.contains("dismissAt"))
            #expect(server.received.isEmpty)
        }
    }

    @Test("an update is repeated under one key, the caller's where there is one")
    func update() async throws {
        try await withBackend { number, _ in
            number == 0
                ? .answer(status: 503, body: Problem.unavailable().json.text)
                : .answer(status: 202, body: Self.accepted)
        } _: { tally, server in
            var options = UpdateOptions()
            options.urgency = .critical
            options.mustDeliver = true
            let change = try await tally.update(
                "o-1",
                contentState: Self.progress,
                options: options,
                idempotencyKey: "feed-9"
            )
            #expect(change.revision == 2 && !change.isUnchanged)
            #expect(server.received.map { $0.headers["idempotency-key"] } == ["feed-9", "feed-9"])
            let body = try JSONValue(parsing: try #require(server.received.last).body)
            #expect(body["urgency"]?.string == "critical")
            #expect(body["must_deliver"]?.bool == true)
            #expect(body["force"] == nil && body["relevance_score"] == nil)
        }
    }

    @Test("what a change may say beside its state goes out as the API has it")
    func options() async throws {
        let started = #"{"activity_id":"o-1","state":"live","revision":1,"audience":{"devices":0,"unknown_users":0}}"#
        try await withBackend { number, _ in
            .answer(status: 202, body: number == 0 ? started : Self.accepted)
        } _: { tally, server in
            var start = StartOptions()
            start.urgency = .notable
            start.relevanceScore = 75.5
            start.alert = ChangeAlert(
                title: .localized(key: "ORDER_%@", arguments: ["7"]),
                body: .localized(key: "IN_THE_OVEN")
            )
            try await tally.start(
                "o-1",
                type: "Order",
                attributes: [:] as [String: String],
                contentState: Self.progress,
                options: start
            )
            var update = UpdateOptions()
            update.force = true
            update.relevanceScore = 0
            update.alert = ChangeAlert(title: .plain("Order"), body: .localized(key: "READY"), sound: "bell.caf")
            try await tally.update("o-1", contentState: Self.progress, options: update)
            var end = EndOptions()
            end.dismissAt = Self.eta
            try await tally.end("o-1", options: end)
            let bodies = try server.received.map { try JSONValue(parsing: $0.body) }
            #expect(bodies[0]["urgency"]?.string == "notable" && bodies[0]["relevance_score"] == 75.5)
            #expect(
                bodies[0]["alert"] == [
                    "title": ["loc_key": "ORDER_%@", "loc_args": ["7"]], "body": ["loc_key": "IN_THE_OVEN"],
                ]
            )
            #expect(bodies[1]["force"]?.bool == true && bodies[1]["relevance_score"] == 0)
            #expect(
                bodies[1]["alert"] == ["title": "Order", "body": ["loc_key": "READY"], "sound": "bell.caf"]
            )
            #expect(bodies[2] == ["dismiss_at": "2022-12-18T15:00:00Z"])
        }
    }

    @Test("a scheduled end has a schedule's id and no revision")
    func end() async throws {
        try await withBackend { _, _ in
            .answer(status: 202, body: #"{"schedule_id":"s-1"}"#)
        } _: { tally, server in
            var options = EndOptions()
            options.dismissAfterSeconds = 0
            options.at = Self.eta
            let change = try await tally.end("o-1", options: options)
            #expect(change.scheduleID == "s-1" && change.revision == nil)
            let body = try JSONValue(parsing: try #require(server.received.first).body)
            #expect(body == ["dismiss_after_seconds": 0, "at": "2022-12-18T15:00:00Z"])
        }
    }

    @Test("an audience is added to and taken from under one key, and its size is told")
    func audience() async throws {
        try await withBackend { number, _ in
            number == 0
                ? .answer(status: 503, body: Problem.unavailable().json.text)
                : .answer(status: 202, body: #"{"devices":3,"unknown_users":1}"#)
        } _: { tally, server in
            let size = try await tally.changeAudience(
                of: "o-1",
                adding: ActivityAudience(users: ["u1", "u2"], everyDevice: true),
                removing: ActivityAudience(devices: ["d1"]),
                idempotencyKey: "list-1"
            )
            #expect(size.devices == 3 && size.unknownUsers == 1)
            #expect(server.received.map { $0.headers["idempotency-key"] } == ["list-1", "list-1"])
            let request = try #require(server.received.last)
            #expect(request.target == "/v1/apps/com.example.pizza/activities/o-1/audience")
            let body = try JSONValue(parsing: request.body)
            #expect(body["add"] == ["users": ["u1", "u2"], "all_of_type": true])
            #expect(body["remove"] == ["devices": ["d1"]])
            // Nobody is no mistake: lists of callers may be empty.
            try await tally.changeAudience(of: "o-1")
            let nobody = try JSONValue(parsing: try #require(server.received.last).body)
            #expect(try AudienceRequest(json: nobody) == AudienceRequest(add: Audience(), remove: Audience()))
        }
    }

    @Test("a ticket is for one device, its user and the activities that are named")
    func ticket() async throws {
        try await withBackend { _, _ in
            .answer(status: 201, body: #"{"ticket":"t-1","expires_at":"2022-12-18T15:00:00.500Z"}"#)
        } _: { tally, server in
            let ticket = try await tally.ticket(
                forDevice: "d1",
                user: "u1",
                activities: ["o-1"],
                isSandbox: true,
                lifetimeSeconds: 60
            )
            #expect(ticket.text == "t-1" && ticket.expiresAt == Self.eta + 0.5)
            _ = try await tally.ticket(forDevice: "d2")
            let requests = server.received
            #expect(requests.map(\.method) == ["POST", "POST"])
            #expect(Set(requests.map(\.target)) == ["/v1/apps/com.example.pizza/registration-tickets"])
            let bodies = try requests.map { try JSONValue(parsing: $0.body) }
            #expect(
                bodies[0] == [
                    "environment": "sandbox", "device_id": "d1", "user_id": "u1", "activities": ["o-1"],
                    "ttl_seconds": 60,
                ]
            )
            #expect(bodies[1] == ["environment": "production", "device_id": "d2", "ttl_seconds": 3_600])
        }
    }

    @Test("a user is erased")
    func erasure() async throws {
        try await withBackend { _, _ in
            .answer(status: 204, body: "")
        } _: { tally, server in
            try await tally.eraseUser("u1")
            let request = try #require(server.received.first)
            #expect(request.method == "DELETE" && request.target == "/v1/apps/com.example.pizza/users/u1")
        }
    }

    @Test("a refusal has the API's code, its status and the places that are wrong")
    func refusal() async throws {
        let issue = FieldError(
            pointer: JSONPointer(tokens: ["content_state", "step"]),
            code: "type",
            message: "No text."
        )
        let problem = Problem.invalidContentState([issue])
        try await withBackend { _, _ in
            .answer(status: problem.status, body: problem.json.text)
        } _: { tally, _ in
            let error = try await #require(throws: TallyError.self) {
                try await tally.update("o-1", contentState: Self.progress)
            }
            #expect(error.code == "invalid_content_state" && error.status == 422)
            #expect(!error.isUnknown && !error.isRetryable)
            #expect(error.issues.map(\.pointer) == ["/content_state/step"])
            #expect(error.description.contains("No text."))
        }
    }

    @Test("a key that was read from a file with its line's end is the key; one that no header can carry is named")
    func keys() async throws {
        let server = try ScriptedServer { _, _ in .answer(status: 202, body: Self.accepted) }
        defer { server.stop() }
        let tally = try TallyBackend(url: server.url, key: "\tsecret\r\n", app: "com.example")
        _ = try await tally.end("o-1")
        #expect(server.received.map { $0.headers["authorization"] } == ["Bearer secret"])
        for key in ["two\nlines", "nu\u{0}l", " \n"] {
            let error = try #require(throws: TallyError.self) {
                try TallyBackend(url: server.url, key: key, app: "com.example")
            }
            #expect(error.code == "invalid_argument" && error.detail.contains("API key"))
            #expect(!error.description.contains("lines"))
        }
        let error = try await #require(throws: TallyError.self) {
            try await tally.end("o-1", idempotencyKey: "feed-9\n")
        }
        #expect(error.code == "invalid_argument" && error.detail.contains("idempotency key"))
        #expect(!error.isUnknown && !error.isRetryable)
        #expect(server.received.count == 1)
    }

    @Test("what cannot be an id, a bundle id or a state is refused before anything is sent")
    func arguments() async throws {
        #expect(throws: TallyError.self) { try TallyBackend(url: "http://h", key: "k", app: "not a bundle id") }
        #expect(throws: TallyError.self) { try TallyBackend(url: "nowhere", key: "k", app: "com.example") }
        try await withBackend { _, _ in
            .answer(status: 202, body: Self.accepted)
        } _: { tally, server in
            let id = try await #require(throws: TallyError.self) {
                try await tally.update("ö", contentState: Self.progress)
            }
            #expect(id.code == "invalid_argument")
            let state = try await #require(throws: TallyError.self) {
                try await tally.update("o-1", contentState: [1, 2])
            }
            #expect(state.detail.contains("JSON object"))
            let user = try await #require(throws: TallyError.self) { try await tally.eraseUser("ü") }
            let device = try await #require(throws: TallyError.self) { try await tally.ticket(forDevice: "") }
            let audience = try await #require(throws: TallyError.self) {
                try await tally.changeAudience(of: "o-1", adding: ActivityAudience(devices: ["dé"]))
            }
            #expect([user, device, audience].allSatisfy { $0.code == "invalid_argument" })
            #expect(server.received.isEmpty)
        }
    }

    /// What becomes of a post, and what is said of it.
    struct Outcome: CustomTestStringConvertible {
        var testDescription: String
        /// One try after the other, the last one for ever.
        var replies: [ScriptedServer.Reply]
        var code: String
        var isUnknown: Bool
        var isRetryable: Bool

        init(
            _ description: String,
            _ replies: ScriptedServer.Reply...,
            code: String,
            isUnknown: Bool,
            isRetryable: Bool = true
        ) {
            testDescription = description
            self.replies = replies
            self.code = code
            self.isUnknown = isUnknown
            self.isRetryable = isRetryable
        }
    }

    /// A problem after which the client gives up: the wait is longer than the deadline.
    private static func last(_ problem: Problem) -> ScriptedServer.Reply {
        .answer(status: problem.status, headers: ["Retry-After": "3600"], body: problem.json.text)
    }

    private static func proxy(_ status: Int) -> ScriptedServer.Reply {
        .answer(status: status, headers: ["Retry-After": "3600"], body: "<html>")
    }

    static var outcomes: [Outcome] {
        [
            Outcome("the database is away", last(.unavailable()), code: "unavailable", isUnknown: false),
            Outcome(
                "too many posts",
                last(.tooManyRequests(retryAfter: 1)),
                code: "too_many_requests",
                isUnknown: false
            ),
            Outcome("a lost answer to COMMIT", last(.outcomeUnknown()), code: "outcome_unknown", isUnknown: true),
            Outcome("a proxy's 502", proxy(502), code: "unreachable", isUnknown: true),
            Outcome("a proxy's 503", proxy(503), code: "unreachable", isUnknown: true),
            Outcome("a proxy's 504", proxy(504), code: "unreachable", isUnknown: true),
            Outcome(
                "a first try still at work",
                last(.idempotencyInProgress()),
                code: "idempotency_in_progress",
                isUnknown: true
            ),
            Outcome(
                "a lost answer, then an outage",
                .hangUp,
                last(.unavailable()),
                code: "unavailable",
                isUnknown: true
            ),
            Outcome(
                "a lost answer, then a revoked key",
                .hangUp,
                last(.unauthorized()),
                code: "unauthorized",
                isUnknown: true,
                isRetryable: false
            ),
            Outcome(
                "a lost answer, then a verdict",
                .hangUp,
                last(.lateEvent(newest: Instant(unixSeconds: 0))),
                code: "late_event",
                isUnknown: false,
                isRetryable: false
            ),
            Outcome(
                "an answer that is not Tally's",
                .answer(status: 200, body: "<html>"),
                code: "bad_answer",
                isUnknown: true,
                isRetryable: false
            ),
        ]
    }

    @Test(
        "whether a change may have been accepted counts all tries, and whether it is worth another is said",
        arguments: outcomes
    )
    func outcome(_ outcome: Outcome) async throws {
        try await withBackend { number, _ in
            outcome.replies[min(number, outcome.replies.count - 1)]
        } _: { tally, server in
            let error = try await #require(throws: TallyError.self) {
                try await tally.update("o-1", contentState: Self.progress)
            }
            #expect(error.code == outcome.code)
            #expect(error.isUnknown == outcome.isUnknown)
            #expect(error.isRetryable == outcome.isRetryable)
            #expect(error.retryAfter == (outcome.isRetryable ? 3_600 : nil))
            #expect(server.received.count == outcome.replies.count)
        }
    }

    @Test("what never left is known not to have been accepted, and worth another try")
    func away() async throws {
        let tally = try TallyBackend(
            url: "http://127.0.0.1:\(try ScriptedServer.closedPort())",
            key: "k",
            app: "com.example",
            deadline: .seconds(2)
        )
        let error = try await #require(throws: TallyError.self) { try await tally.end("o-1") }
        #expect(error.code == "unreachable" && error.status == nil)
        #expect(!error.isUnknown && error.isRetryable)
    }
}

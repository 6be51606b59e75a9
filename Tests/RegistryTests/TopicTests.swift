import APITypes
import ActivityModel
import Intake
import JSON
import OrchestratorTestSupport
import Postgres
import Store
import Testing

@testable import Orchestrator
@testable import Registry

@Suite("What users and devices follow", .timeLimit(.minutes(2)))
struct TopicTests {
    private static let ada = UserOrDevice.user(UserID(stored: "ada"))
    private static let phone = UserOrDevice.device(DeviceID(stored: "phone"))

    private func topics(_ names: String...) -> [Topic] { names.map { Topic(stored: $0) } }

    private func refusal(_ body: () async throws -> Void) async -> Problem? {
        do {
            try await body()
            return nil
        } catch {
            return error as? Problem
        }
    }

    @Test(
        "A list is replaced, or changed; a topic that is both added and removed is followed",
        arguments: [ada, phone]
    )
    func lists(follower: UserOrDevice) async throws {
        try await withWorld { world in
            try await world.register("phone")
            func put(_ request: TopicsRequest) async throws -> [String] {
                let answer = try await world.orchestrator.putTopics(world.app, of: follower, request)
                #expect(try await world.orchestrator.topics(world.app, of: follower) == answer)
                return answer.topics.map(\.rawValue)
            }
            #expect(try await put(.whole(topics("b", "a", "b"))) == ["a", "b"])
            #expect(try await put(.change(add: topics("c", "a"), remove: topics("b", "x"))) == ["a", "c"])
            #expect(try await put(.change(add: topics("c"), remove: topics("c", "a"))) == ["c"])
            #expect(try await put(.whole([])) == [])
        }
    }

    @Test("A user follows topics before the first device is there; a device must be registered, and the app as well")
    func unknown() async throws {
        try await withWorld { world in
            let request = TopicsRequest.whole(topics("a"))
            _ = try await world.orchestrator.putTopics(world.app, of: Self.ada, request)
            #expect(try await world.orchestrator.topics(world.app, of: Self.ada).topics == topics("a"))
            await #expect(throws: Problem.notFound("the device")) {
                try await world.orchestrator.putTopics(world.app, of: Self.phone, request)
            }
            let other = BundleID(stored: "com.example.other")
            await #expect(throws: Problem.notFound("the app")) {
                try await world.orchestrator.putTopics(other, of: Self.ada, request)
            }
        }
    }

    @Test("More than 200 topics are refused with the field and the limit")
    func tooMany() {
        let many = (1...200).map { Topic(stored: "t\($0)") }
        let problem = #expect(throws: Problem.self) {
            try TopicChange(.change(add: topics("one"), remove: topics("t1x")), of: Set(many))
        }
        #expect(problem?.status == 422)
        #expect(problem?.errors.map(\.pointer.description) == ["/add"])
        #expect(problem?.errors.first?.message.contains("200") == true)
        #expect(throws: Problem.self) { try TopicChange(.whole(many + topics("one")), of: []) }
        #expect(throws: Problem.self) {
            try TopicsRequest(json: ["topics": .array((1...201).map { .string("t\($0)") })])
        }
    }

    @Test("The topics of an app are listed page by page with their followers, not those of other apps")
    func counts() async throws {
        try await withWorld(settings: OrchestratorSettings { $0.stretchSize = 1 }) { world in
            for number in 1...12 {
                let user = UserOrDevice.user(UserID(stored: "u\(number)"))
                _ = try await world.orchestrator.putTopics(world.app, of: user, .whole(topics("club")))
            }
            try await world.register("phone")
            _ = try await world.orchestrator.putTopics(world.app, of: Self.phone, .whole(topics("club", "match")))
            let first = try await world.orchestrator.topics(world.app, PageRequest(limit: 1))
            #expect(first.items == [TopicResource(topic: Topic(stored: "club"), users: 12, devices: 1)])
            let rest = try await world.orchestrator.topics(world.app, PageRequest(limit: 1, cursor: first.nextCursor))
            #expect(rest.items == [TopicResource(topic: Topic(stored: "match"), users: 0, devices: 1)])
            #expect(rest.nextCursor == nil)
            try await world.orchestrator.deleteDevice(world.app, DeviceID(stored: "phone"))
            try await world.orchestrator.eraseUser(world.app, UserID(stored: "u1"))
            let left = try await world.orchestrator.topics(world.app, PageRequest())
            #expect(left.items == [TopicResource(topic: Topic(stored: "club"), users: 11, devices: 0)])
        }
    }

    @Test("The topics of users and devices go with their app; nobody follows in an app that is gone")
    func appGone() async throws {
        try await withWorld { world in
            try await world.register("phone")
            for follower in [Self.ada, Self.phone] {
                _ = try await world.orchestrator.putTopics(world.app, of: follower, .whole(topics("a")))
            }
            // The last step of a deletion. Rows of requests that came meanwhile may be left.
            try await world.database.execute("DELETE FROM apps WHERE bundle_id = \(world.app.rawValue)")
            #expect(try await world.number("SELECT count(*) FROM topic_follows") == 0)
            let error = await #expect(throws: PostgresError.self) {
                try await world.database.execute(
                    "INSERT INTO topic_follows (bundle_id, topic, user_id) VALUES (\(world.app.rawValue), 'a', 'ada')"
                )
            }
            // Whoever stores something looks for its app once more then.
            #expect(error?.sqlState == "23503")
        }
    }

    @Test("A report of a device replaces its topics if it names any")
    func reports() async throws {
        try await withWorld { world in
            try await world.register("phone")
            func report(_ topics: [Topic]?) async throws -> [String] {
                var request = DeviceRequest(environment: .production)
                request.topics = topics
                _ = try await world.orchestrator.intake.putDevice(world.app, DeviceID(stored: "phone"), request)
                return try await world.orchestrator.topics(world.app, of: Self.phone).topics.map(\.rawValue)
            }
            #expect(try await report(topics("b", "a")) == ["a", "b"])
            #expect(try await report(nil) == ["a", "b"])
            #expect(try await report(topics("c")) == ["c"])
            #expect(try await report([]) == [])
        }
    }

    @Test("With a ticket a device follows what the ticket allows, and changes nothing else of its topics")
    func tickets() async throws {
        try await withWorld { world in
            let phone = DeviceID(stored: "phone")
            try await world.register("phone")
            _ = try await world.orchestrator.putTopics(world.app, of: Self.phone, .whole(topics("premium", "team:psv")))
            func report(_ topics: [Topic], allowed: [String]?) async throws -> [String] {
                let answer = try await world.orchestrator.createTicket(
                    world.app,
                    RegistrationTicketRequest(
                        environment: .production,
                        deviceID: phone,
                        topics: allowed?.map { TopicPattern(stored: $0) },
                        ttlSeconds: 60
                    )
                )
                let ticket = try #require(try await world.orchestrator.authenticate(secret: answer.ticket)?.ticket)
                let request = try ticket.admit(DeviceRequest(environment: .production, topics: topics))
                _ = try await world.orchestrator.intake.registerDevice(world.app, phone, request)
                return try await world.orchestrator.topics(world.app, of: Self.phone).topics.map(\.rawValue)
            }
            #expect(try await report(topics("team:ajax"), allowed: ["team:*"]) == ["premium", "team:ajax"])
            #expect(try await report(topics("premium"), allowed: ["premium"]) == ["premium", "team:ajax"])
            #expect(try await report([], allowed: nil) == ["premium", "team:ajax"])
            for (topic, allowed) in [("team", ["team:*"]), ("teams", ["team"]), ("team:psv", nil)] {
                let problem = await refusal { _ = try await report(topics(topic), allowed: allowed) }
                #expect(problem?.code == "ticket_forbidden", "\(topic)")
            }
            #expect(try await report([], allowed: ["*"]) == [])
        }
    }
}

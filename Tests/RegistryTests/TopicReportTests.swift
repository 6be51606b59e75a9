import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import Registry
import Testing

@testable import Orchestrator

@Suite("Topics in reports of devices that come together", .timeLimit(.minutes(2)))
struct TopicReportTests {
    private func report(
        _ id: String,
        _ topics: [String]?,
        allowed: [String]? = nil,
        user: ReportedUser = .unsaid,
        in world: World
    ) -> ReportedDevice {
        var request = DeviceRequest(environment: .production, osVersion: OSVersion("18.1"))
        request.user = user
        request.topics = topics?.map { Topic(stored: $0) }
        request.allowedTopics = allowed?.map { TopicPattern(stored: $0) }
        return ReportedDevice(app: world.app, id: DeviceID(stored: id), request: request, wantsDevice: false)
    }

    /// Takes reports in one transaction.
    private func take(_ reports: [ReportedDevice], in world: World) async throws -> [RegistrationGroup.Answer] {
        let (registry, keeper) = (world.orchestrator.registry, world.orchestrator.activities)
        return try await RegistrationGroup.accept(reports.map { RegistrationGroup.Request($0, registry, keeper) })
    }

    private func takeAll(_ reports: [ReportedDevice], in world: World) async throws {
        for answer in try await take(reports, in: world) { _ = try answer.get() }
    }

    private func follow(_ topics: String..., device: String, in world: World) async throws {
        let request = TopicsRequest.whole(topics.map { Topic(stored: $0) })
        _ = try await world.orchestrator.putTopics(world.app, of: .device(DeviceID(stored: device)), request)
    }

    private func follow(_ topics: String..., user: String, in world: World) async throws {
        let request = TopicsRequest.whole(topics.map { Topic(stored: $0) })
        _ = try await world.orchestrator.putTopics(world.app, of: .user(UserID(stored: user)), request)
    }

    private func followed(by devices: String..., in world: World) async throws -> [[String]] {
        var lists: [[String]] = []
        for device in devices {
            let follower = UserOrDevice.device(DeviceID(stored: device))
            let topics = try await world.orchestrator.topics(world.app, of: follower).topics
            lists.append(topics.map(\.rawValue).sorted())
        }
        return lists
    }

    /// The rows, each with the transaction that wrote it.
    private func rows(of device: String, in world: World) async throws -> [String] {
        let found = try await world.database.query(
            """
            SELECT concat_ws(' ', f.topic, f.follow_key, f.xmin, f.ctid) AS written
            FROM topic_follows AS f JOIN devices USING (device_key) WHERE device_id = \(device) ORDER BY written
            """
        )
        return try found.decoded(as: String.self)
    }

    @Test(
        "A list that is stored is not written again, in whatever order, also if the device follows what its ticket does not allow",
        arguments: [nil, ["team:*"], ["team:*", "Match 7, \"B\""]] as [[String]?]
    )
    func unchanged(allowed: [String]?) async throws {
        try await withWorld { world in
            let topics = ["team:psv", "Match 7, \"B\"", "team:ajax", "team:Ajax", "team:ajax2"]
            let named = topics.filter { $0.hasPrefix("team:") || allowed?.count != 1 }
            try await takeAll(["d1", "d2"].map { report($0, topics, in: world) }, in: world)
            let before = try await rows(of: "d1", in: world)
            #expect(before.count == 5)
            try await takeAll(
                [
                    report("d1", Array(named.reversed()) + named, allowed: allowed, in: world),
                    report("d2", ["team:psv"], allowed: ["team:*"], in: world),
                    report("d3", named, allowed: allowed, in: world),
                ],
                in: world
            )
            #expect(try await rows(of: "d1", in: world) == before)
            let kept = ["Match 7, \"B\"", "team:psv"]
            #expect(try await followed(by: "d2", "d3", in: world) == [kept, named.sorted()])
        }
    }

    @Test("Each changes the list of its own device; a report without topics, and one with the same, change nothing")
    func changes() async throws {
        try await withWorld { world in
            try await takeAll(
                [
                    report("other", ["a", "b"], in: world), report("fewer", ["a", "b", "c"], in: world),
                    report("none", ["a", "b"], in: world), report("silent", ["a"], in: world),
                    report("same", ["a", "b"], in: world), report("first", nil, in: world),
                ],
                in: world
            )
            let before = try await rows(of: "same", in: world)
            let kept = try await rows(of: "fewer", in: world).filter { $0.hasPrefix("c ") }
            try await takeAll(
                [
                    report("new", ["z", "a", "z"], in: world), report("other", ["c", "d", "d"], in: world),
                    report("fewer", ["c", "c"], in: world), report("none", [], in: world),
                    report("silent", nil, in: world), report("same", ["b", "a"], in: world),
                    report("first", ["b"], in: world), report("empty", [], in: world),
                ],
                in: world
            )
            let lists = try await followed(
                by: "new",
                "other",
                "fewer",
                "none",
                "silent",
                "same",
                "first",
                "empty",
                in: world
            )
            #expect(lists == [["a", "z"], ["c", "d"], ["c"], [], ["a"], ["a", "b"], ["b"], []])
            #expect(try await rows(of: "same", in: world) == before)
            #expect(try await rows(of: "fewer", in: world) == kept)
        }
    }

    @Test("A report with too many topics is refused with the field, and the others are taken")
    func tooMany() async throws {
        try await withWorld { world in
            let many = (1...199).map { "old:\($0)" }
            try await takeAll([report("d1", many, in: world), report("d2", ["new:1"], in: world)], in: world)
            let answers = try await take(
                [
                    report("d1", ["new:1", "new:2"], allowed: ["new:*"], in: world),
                    report("d2", ["new:2"], allowed: ["new:*"], in: world),
                    report("d3", ["new:3"], allowed: ["new:*"], in: world),
                ],
                in: world
            )
            let problem = #expect(throws: Problem.self) { try answers[0].get() }
            #expect(problem?.errors.map(\.pointer.description) == ["/topics"])
            for answer in answers.dropFirst() { _ = try answer.get() }
            #expect(try await followed(by: "d1", "d2", "d3", in: world) == [many.sorted(), ["new:2"], ["new:3"]])
        }
    }

    @Test("A device that is deleted meanwhile is made again with its topics; the old ones are gone with it")
    func deleted() async throws {
        try await withWorld { world in
            let names = ["d1", "d2", "d3"]
            try await takeAll(names.map { report($0, ["a", "b"], in: world) }, in: world)
            try await withThrowingTaskGroup(of: Void.self) { group in
                try await world.database.withTransaction { connection in
                    _ = try await connection.query("DELETE FROM devices WHERE device_id = 'd2'")
                    group.addTask {
                        try await takeAll(names.map { report($0, ["b", "c"], in: world) }, in: world)
                    }
                    try await world.someoneWaits()
                }
                try await group.waitForAll()
            }
            #expect(try await followed(by: "d1", "d2", "d3", in: world) == [["b", "c"], ["b", "c"], ["b", "c"]])
            #expect(try await world.number("SELECT count(*) FROM topic_follows") == 6)
        }
    }

    @Test("By policy a changed list ends the card of its own device, and of no other that changes at the same time")
    func cards() async throws {
        try await withWorld(policy: { $0.onUnfollow = .end }) { world in
            for number in 1...4 { try await world.register("d\(number)", token: "5a0\(number)") }
            for device in ["d1", "d2", "d3"] { try await follow("ajax", "psv", device: device, in: world) }
            try await follow("x", device: "d4", in: world)
            try await world.start(
                to: Audience(topics: [Topic(stored: "ajax")], exceptTopics: [Topic(stored: "muted")])
            )
            try await world.settle()
            for number in 1...3 { try await world.follow("d\(number)", token: "aa0\(number)") }
            // Its app has started it. The audience does not cover it.
            try await world.follow("d4", token: "aa04", known: 1)
            try await world.settle()
            _ = world.recorder.take()
            try await takeAll(
                [
                    report("d1", ["psv"], in: world), report("d2", ["ajax"], in: world),
                    report("d3", ["ajax", "psv", "muted"], in: world), report("d4", ["y"], in: world),
                ],
                in: world
            )
            try await world.settle()
            let ended = world.recorder.take().filter { $0.event == "end" }.map(\.destination).sorted()
            #expect(ended == ["aa01", "aa03"])
        }
    }

    @Test(
        "By policy the card ends of a topic that only the former user of the device follows; the others stay",
        arguments: [OnUnfollow.keep, .end],
        [ReportedUser.nobody, .user(UserID(stored: "eve")), .unsaid, .user(UserID(stored: "ada"))]
    )
    func formerUser(onUnfollow: OnUnfollow, user: ReportedUser) async throws {
        try await withWorld(policy: { $0.onUnfollow = onUnfollow }) { world in
            // The first two follow by their user, the third by itself, too, and the fourth belongs to somebody else.
            for (number, owner) in ["ada", "ada", "ada", "bob"].enumerated() {
                try await world.register("d\(number + 1)", token: "5a0\(number + 1)", user: owner)
            }
            try await follow("ajax", user: "ada", in: world)
            try await follow("ajax", user: "bob", in: world)
            try await follow("psv", user: "eve", in: world)
            try await follow("ajax", device: "d3", in: world)
            try await world.start(to: Audience(topics: [Topic(stored: "ajax")]))
            try await world.settle()
            for number in 1...4 { try await world.follow("d\(number)", token: "aa0\(number)") }
            try await world.settle()
            _ = world.recorder.take()
            try await takeAll(["d1", "d3"].map { report($0, nil, user: user, in: world) }, in: world)
            try await world.settle()
            let hasLeft = onUnfollow == .end && user != .unsaid && user.id?.rawValue != "ada"
            let ended = world.recorder.take().filter { $0.event == "end" }.map(\.destination)
            #expect(ended == (hasLeft ? ["aa01"] : []))
            try await world.update(score: 1)
            try await world.settle()
            let updated = world.recorder.take().filter { $0.event == "update" }.map(\.destination).sorted()
            #expect(updated == ["aa01", "aa02", "aa03", "aa04"].filter { !hasLeft || $0 != "aa01" })
        }
    }
}

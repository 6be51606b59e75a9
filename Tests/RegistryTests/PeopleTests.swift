import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import Registry
import ReportTypes
import Store
import Testing

@testable import Orchestrator

@Suite("What is known of a user", .timeLimit(.minutes(2)))
struct PeopleTests {
    private static let ada = UserID(stored: "ada")

    private func follow(_ topics: [String], _ follower: UserOrDevice, in world: World) async throws {
        let request = TopicsRequest.whole(topics.map { Topic(stored: $0) })
        _ = try await world.orchestrator.putTopics(world.app, of: follower, request)
    }

    /// Ada follows a topic and has cards of the final and of the semi. Bob is started for the third activity, too.
    private func scene(in world: World) async throws {
        try await world.register("phone", token: "5a01beef", user: "ada")
        try await world.register("other", token: "5b01", user: "bob")
        try await follow(["ajax"], .user(Self.ada), in: world)
        try await follow(["by itself"], .device(DeviceID(stored: "phone")), in: world)
        try await world.start("final", to: Audience(topics: [Topic(stored: "ajax")]))
        try await world.settle()
        try await world.follow("phone", token: "aa01beef")
        try await world.start("semi", to: World.devices("phone", "other")) { $0.delivery = .channel }
        try await world.start("third", to: World.devices("other"))
        try await world.settle()
    }

    @Test("A user's topics, starts and what was sent today are shown, and those of nobody else")
    func shown() async throws {
        try await withWorld { world in
            await #expect(throws: Problem.notFound("the user")) {
                try await world.orchestrator.user(world.app, Self.ada)
            }
            try await scene(in: world)
            let user = try await world.orchestrator.user(world.app, Self.ada)
            #expect(user.topics.map(\.rawValue) == ["ajax"])
            #expect(user.activities.map(\.activityID.rawValue) == ["semi", "final"])
            #expect(user.starts.map(\.activityID.rawValue) == ["semi", "final"])
            #expect(user.starts.last?.state == .confirmed)
            #expect(user.sentToday.starts == 2)
            #expect(user.cards.map(\.activityID.rawValue) == ["semi", "final"])
            let page = PageRequest()
            func activities(_ user: UserID) async throws -> [String] {
                let found = try await world.orchestrator.activities(world.app, type: nil, state: nil, user: user, page)
                return found.items.map(\.activityID.rawValue)
            }
            #expect(try await activities(Self.ada) == ["semi", "final"])
            #expect(try await activities(UserID(stored: "bob")) == ["third", "semi"])
            try await world.end("final")
            try await world.settle()
            let cards = try await world.orchestrator.user(world.app, Self.ada).cards
            #expect(cards.map { $0.card.state == .over } == [false, true])
        }
    }

    @Test("The starts of today count the card that a new one continued, too")
    func continued() async throws {
        try await withWorld(policy: { $0.continueAfterHours = 2 }) { world in
            try await world.register("phone", token: "5a01", user: "ada")
            try await world.start(to: World.devices("phone"))
            try await world.settle()
            try await world.follow("phone", token: "aa01", known: 1, generation: 7, card: "A")
            try await world.settle()
            try await world.pass(7_201)
            while try await world.watchCards() > 0 {}
            try await world.settle()
            try await world.pass(11)
            try await world.settle()
            #expect(world.recorder.pushes(to: "5a01").count == 2)
            #expect(try await world.orchestrator.user(world.app, Self.ada).sentToday.starts == 2)
        }
    }

    @Test("The timeline of a user has the entries of the user's devices, and those of the activity")
    func timeline() async throws {
        try await withWorld { world in
            try await scene(in: world)
            try await world.writeTimeline()
            func devices(_ user: String?) async throws -> Set<String> {
                let id = ActivityID(stored: "semi")
                let user = user.map { UserID(stored: $0) }
                let page = try await world.orchestrator.timeline(world.app, id, device: nil, user: user, PageRequest())
                    .page
                #expect(page.items.contains { $0.kind == "accepted" })
                return Set(page.items.compactMap { $0.deviceID?.rawValue })
            }
            #expect(try await devices("ada") == ["phone"])
            #expect(try await devices("bob") == ["other"])
            #expect(try await devices("nobody") == [])
            #expect(try await devices(nil) == ["phone", "other"])
            await #expect(throws: Problem.self) {
                try await world.orchestrator.timeline(
                    world.app,
                    ActivityID(stored: "semi"),
                    device: DeviceID(stored: "phone"),
                    user: Self.ada,
                    PageRequest()
                )
            }
        }
    }

    @Test(
        "An export in small pages has the same as one page, each entry once, in the same order",
        arguments: [1, 2, 3, 7]
    )
    func exportPages(limit: Int) async throws {
        try await withWorld { world in
            try await world.register("other", token: "5b01", user: "bob")
            for number in 1...4 { try await world.register("phone-\(number)", token: "5a0\(number)", user: "ada") }
            try await follow(["ajax"], .user(Self.ada), in: world)
            try await follow(["by itself"], .device(DeviceID(stored: "phone-3")), in: world)
            for match in ["final", "semi"] {
                try await world.start(match, to: Audience(topics: [Topic(stored: "ajax")]))
                try await world.settle()
                for number in 1...4 {
                    try await world.follow("phone-\(number)", token: "a\(match.count)0\(number)", in: match)
                }
                try await world.update(match, score: 1)
                try await world.settle()
            }
            try await world.writeTimeline()
            var pages = UserExportPages(orchestrator: world.orchestrator, app: world.app, user: Self.ada)
            let whole = try await pages.page(nil)
            #expect(whole.nextCursor == nil && !whole.user.isTruncated)
            #expect(whole.user.devices.count == 4 && whole.user.cards.count == 8 && whole.user.starts.count == 8)
            #expect(whole.user.activities.count == 2 && whole.deviceTopics.count == 1 && whole.pushes.count >= 16)
            #expect(whole.user.sentToday.starts == 8)
            pages.limit = limit
            var sum = try await pages.page(nil)
            while let cursor = sum.nextCursor {
                let page = try await pages.page(cursor)
                let user = page.user
                #expect(
                    user.devices.count + user.cards.count + user.activities.count + user.starts.count
                        + page.pushes.count
                        <= limit
                )
                sum.append(page)
            }
            sum.exportedAt = whole.exportedAt
            #expect(sum == whole)
            let others = [
                PageCursor(values: ["cards", "1"]), PageCursor(values: ["lists"]), PageCursor(in: .devices, ["1"]),
                PageCursor(in: .export, ["cards", "1"]),
            ]
            for cursor in ["x"] + others.map(\.text) {
                await #expect(throws: PageCursor.refused) { try await pages.page(cursor) }
            }
        }
    }

    @Test("An export has all of it, and after the erasure there is nothing")
    func export() async throws {
        try await withWorld { world in
            try await scene(in: world)
            let export = try await world.orchestrator.exportUser(world.app, Self.ada, cursor: nil)
            #expect(export.user.devices.map(\.deviceID.rawValue) == ["phone"])
            #expect(export.user.topics.map(\.rawValue) == ["ajax"])
            #expect(export.deviceTopics.map(\.deviceID.rawValue) == ["phone"])
            #expect(export.deviceTopics.first?.topics.map(\.rawValue) == ["by itself"])
            #expect(!export.user.isTruncated)
            let text = export.json.text
            #expect(!text.contains("beef") && !text.contains("other"))
            try await world.orchestrator.eraseUser(world.app, Self.ada)
            await #expect(throws: Problem.notFound("the user")) {
                try await world.orchestrator.exportUser(world.app, Self.ada, cursor: nil)
            }
            #expect(try await world.number("SELECT count(*) FROM topic_follows") == 0)
        }
    }
}

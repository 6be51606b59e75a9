import APITypes
import ActivityModel
import Intake
import JSON
import OrchestratorTestSupport
import Postgres
import ReportTypes
import TestSupport
import Testing

@testable import Orchestrator
@testable import Store

@Suite("Lists")
struct ListTests {
    private typealias List = @Sendable (Orchestrator, BundleID, PageRequest) async throws -> Void

    /// Every list with a cursor, the types of its columns, and whether it is one of an app.
    private static let lists: [(name: String, columns: String, isOfApp: Bool, read: List)] = [
        ("apps", "name", false, { _ = try await $0.apps($2, only: nil) }),
        ("types", "name", true, { _ = try await $0.types($1, $2) }),
        ("versions", "number", true, { _ = try await $0.typeVersions($1, World.game, $2) }),
        ("devices", "number", true, { _ = try await $0.devices($1, $2) }),
        ("activities", "number", true, { _ = try await $0.activities($1, type: nil, state: nil, $2) }),
        ("cards", "number", true, { _ = try await $0.subscriptions($1, ActivityID(stored: "final"), $2) }),
        ("channels", "time uuid", true, { _ = try await $0.channels($1, $2) }),
        ("audience", "number", true, { _ = try await $0.audience($1, ActivityID(stored: "final"), $2) }),
        ("halts", "environment", true, { _ = try await $0.halts(of: $1, $2) }),
        ("schedules", "time uuid", true, { _ = try await $0.schedules($1, $2) }),
        ("keys", "time uuid", false, { _ = try await $0.apiKeys($2, only: nil) }),
        ("audit", "number", false, { _ = try await $0.audit(AuditFilter(), $2, only: nil) }),
        (
            "timeline", "time number number", true,
            { _ = try await $0.timeline($1, ActivityID(stored: "final"), device: nil, $2) }
        ),
    ]

    private static let good = [
        "name": "ab", "number": "1", "environment": "production", "time": "0",
        "uuid": "0d1b4f86-7f5c-4f0e-9d59-0a6f6e4f6c11",
    ]
    private static let bad: [String: [String]] = [
        "name": ["\0", "", "a b", "'"], "number": ["\0", "x", "", "1.5", "99999999999999999999"],
        "time": ["\0", "x", "9223372036854775807", "-9223372036854775808", "253402300800000000", "-62135596800000001"],
        "uuid": ["\0", "", "x", "0d1b4f86"], "environment": ["\0", "", "x", "Production"],
    ]

    /// Cursors as somebody could make them up for a list with these columns: one column wrong, one too few, one too
    /// many.
    private func madeUp(for columns: [String]) -> [[String]] {
        let good = columns.map { Self.good[$0] ?? "" }
        let wrong = columns.indices.flatMap { place in
            (Self.bad[columns[place]] ?? []).map { text in
                var values = good
                values[place] = text
                return values
            }
        }
        return wrong + [Array(good.dropLast()), good + ["1"]]
    }

    @Test("A cursor that is made up is refused by every list, and breaks none")
    func madeUp() async throws {
        try await withWorld { world in
            try await world.start()
            for list in Self.lists {
                for values in madeUp(for: list.columns.split(separator: " ").map(String.init)) {
                    let page = PageRequest(limit: 10, cursor: PageCursor(values: values).text)
                    let refusal = try await problem { try await list.read(world.orchestrator, world.app, page) }
                    #expect(refusal == PageCursor.refused, "\(list.name) \(values)")
                }
            }
        }
    }

    @Test("A cursor of one list is refused by every other")
    func otherLists() async throws {
        try await withWorld { world in
            try await world.start()
            for list in Self.lists {
                for other in Self.lists where other.name != list.name {
                    let columns = other.columns.split(separator: " ").map { Self.good[String($0)] ?? "" }
                    let cursor = PageCursor(in: try #require(PagedList(rawValue: other.name)), columns)
                    let page = PageRequest(limit: 10, cursor: cursor.text)
                    let refusal = try await problem { try await list.read(world.orchestrator, world.app, page) }
                    #expect(refusal == PageCursor.refused, "\(list.name) \(other.name)")
                }
            }
        }
    }

    @Test("A list of devices does not go on where one of activities was cut, and each goes on with its own cursor")
    func cutLists() async throws {
        try await withWorld { world in
            for name in ["one", "two"] {
                try await world.start(name)
                try await world.register(name)
            }
            let app = world.app
            func devices(_ cursor: String?) async throws -> Page<DeviceResource> {
                try await world.orchestrator.devices(app, PageRequest(limit: 1, cursor: cursor))
            }
            func activities(_ cursor: String?) async throws -> Page<ActivityResource> {
                let page = PageRequest(limit: 1, cursor: cursor)
                return try await world.orchestrator.activities(app, type: nil, state: nil, page)
            }
            let ofDevices = try #require(try await devices(nil).nextCursor)
            let ofActivities = try #require(try await activities(nil).nextCursor)
            #expect(try await devices(ofDevices).items.map(\.deviceID.rawValue) == ["two"])
            #expect(try await activities(ofActivities).items.map(\.activityID.rawValue) == ["one"])
            let refusals = [
                try await problem { _ = try await devices(ofActivities) },
                try await problem { _ = try await activities(ofDevices) },
            ]
            #expect(refusals == [PageCursor.refused, PageCursor.refused])
        }
    }

    @Test("Lists of an app that does not exist are 404, those of an app that has nothing are empty")
    func noApp() async throws {
        try await withWorld { world in
            for list in Self.lists where list.isOfApp {
                let none = BundleID(stored: "com.example.none")
                let refusal = try await problem { try await list.read(world.orchestrator, none, PageRequest()) }
                #expect(refusal?.status == 404, "\(list.name)")
            }
            #expect(
                try await world.orchestrator.activities(world.app, type: nil, state: nil, PageRequest()).items.isEmpty
            )
            #expect(try await world.orchestrator.channels(world.app, PageRequest()).items.isEmpty)
            #expect(try await world.orchestrator.schedules(world.app, PageRequest()).items.isEmpty)
            #expect(try await world.orchestrator.devices(world.app, PageRequest()).items.isEmpty)
        }
    }

    // MARK: Cards

    @Test(
        "Cards are listed page by page and by state, with what was sent to them and masked tokens",
        arguments: [1, 2, 2_000]
    )
    func cards(rowsOfStatement: Int) async throws {
        try await withWorld(settings: OrchestratorSettings { $0.stretchSize = rowsOfStatement }) { world in
            try await world.start(to: World.devices("d1"), score: 0)
            try await world.register("d1", token: "aa01")
            try await world.settle()
            for number in 2...4 { try await world.follow("d\(number)", token: "bb0\(number)99") }
            try await world.settle()
            try await world.update(score: 1)
            try await world.settle()
            try await world.tables.reject("d3", reason: "BadDeviceToken")
            try await world.update(score: 2)
            try await world.settle()

            func cards(
                _ state: SubscriptionState? = nil,
                _ page: PageRequest
            ) async throws -> Page<SubscriptionResource> {
                try await world.orchestrator.subscriptions(
                    world.app,
                    ActivityID(stored: "final"),
                    state: state,
                    page
                )
            }
            func words(_ page: Page<SubscriptionResource>) -> [String] {
                page.items.map { "\($0.deviceID) \($0.state.rawValue) \($0.revision) \($0.updateToken ?? "-")" }
            }
            let all = try await cards(nil, PageRequest())
            #expect(
                words(all) == [
                    "d1 waiting_for_token 1 -", "d2 following 3 bb02…", "d3 rejected 1 bb03…", "d4 following 3 bb04…",
                ]
            )
            #expect(all.items.map(\.mode) == [.token, .token, .token, .token])
            let rejected = try await cards(.rejected, PageRequest())
            #expect(rejected.items.map(\.deviceID.rawValue) == ["d3"])
            #expect(rejected.items.first?.reason == "BadDeviceToken")
            let first = try await cards(.riding, PageRequest(limit: 1))
            #expect(words(first) == ["d2 following 3 bb02…"])
            let rest = try await cards(.riding, PageRequest(limit: 1, cursor: first.nextCursor))
            #expect(words(rest) == ["d4 following 3 bb04…"] && rest.nextCursor == nil)
            #expect(try await cards(.over, PageRequest()).items.isEmpty)
        }
    }

    @Test("A card that was sent the end counts as ended, in lists and in answers to reports", arguments: [1, 2_000])
    func endedCards(rowsOfStatement: Int) async throws {
        try await withWorld(settings: OrchestratorSettings { $0.stretchSize = rowsOfStatement }) { world in
            try await world.start()
            for number in 1...3 { try await world.follow("d\(number)", token: "bb0\(number)99", known: 1) }
            try await world.settle()
            try await world.tables.reject("d2", reason: "BadDeviceToken")

            func cards(_ state: SubscriptionState? = nil, limit: Int = 100) async throws -> [String] {
                let id = ActivityID(stored: "final")
                let page = PageRequest(limit: limit)
                let found = try await world.orchestrator.subscriptions(world.app, id, state: state, page)
                return found.items.map { "\($0.deviceID) \($0.state.rawValue) \($0.revision)" }
            }
            try await world.end()
            // Nothing has left yet.
            #expect(try await cards() == ["d1 following 1", "d2 rejected 1", "d3 following 1"])
            #expect(try await cards(.over).isEmpty)
            try await world.settle()
            #expect(try await cards() == ["d1 ended 2", "d2 rejected 1", "d3 ended 2"])
            #expect(try await cards(.riding).isEmpty)
            #expect(try await cards(.over) == ["d1 ended 2", "d3 ended 2"])
            #expect(try await cards(.over, limit: 1) == ["d1 ended 2"])
            #expect(try await world.subscription("d1") == "riding")
            #expect(try await world.follow("d1", token: "bb0199").state == .over)
            #expect(try await world.subscription("d1") == "riding")
        }
    }

    @Test("On a channel every card has what was broadcast since it listens")
    func cardsOfChannel() async throws {
        try await withWorld { world in
            let id = ActivityID(stored: "final")
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.report("d1", .channel)
            try await world.settle()
            try await world.update(score: 1)
            try await world.settle()
            let page = try await world.orchestrator.subscriptions(world.app, id, PageRequest())
            #expect(page.items.map(\.mode) == [.channel] && page.items.map(\.revision) == [2])
            #expect(page.items.map(\.state) == [.riding])
            try await world.end()
            #expect(
                try await world.orchestrator.subscriptions(world.app, id, PageRequest()).items.map(\.state) == [.riding]
            )
            try await world.settle()
            let ended = try await world.orchestrator.subscriptions(world.app, id, state: .over, PageRequest())
            #expect(ended.items.map(\.mode) == [.channel] && ended.items.map(\.revision) == [3])
            let none = try await problem {
                _ = try await world.orchestrator.subscriptions(world.app, ActivityID(stored: "none"), PageRequest())
            }
            #expect(none?.status == 404)
        }
    }

    @Test(
        "A card that is over is listed with the revision that it was sent",
        arguments: ["ended", "installed anew", "moved", "old", "reported when it is old"]
    )
    func cardsThatAreOver(cause: String) async throws {
        try await withWorld { world in
            try await world.addSandbox()
            try await world.start()
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            try await world.update(score: 1)
            try await world.settle()
            func card() async throws -> String? {
                let id = ActivityID(stored: "final")
                let page = try await world.orchestrator.subscriptions(world.app, id, PageRequest())
                return page.items.first.map { "\($0.state.rawValue) \($0.revision)" }
            }
            #expect(try await card() == "following 2")
            switch cause {
            case "ended": try await world.report("d1", .ended)
            case "installed anew": try await world.register("d1", on: .sandbox)
            case "moved": try await world.follow("d2", token: "aa01")
            case "reported when it is old":
                try await world.pass(28_800)
                try await world.follow("d1", token: "aa01")
            default:
                try await world.pass(28_800)
                while try await world.watchCards() > 0 {}
            }
            #expect(try await card() == "ended 2")
        }
    }

    @Test(
        "A card on a channel that is over is listed with the revision that was broadcast to it",
        arguments: ["ended by the backend", "reported when it is old", "reported twice when it is old"]
    )
    func channelCardsThatAreOver(cause: String) async throws {
        try await withWorld { world in
            try await world.start(delivery: .channel)
            try await world.settle()
            try await world.report("d1", .channel, known: 1)
            try await world.update(score: 1)
            try await world.settle()
            let id = ActivityID(stored: "final")
            func card() async throws -> String? {
                let page = try await world.orchestrator.subscriptions(world.app, id, PageRequest())
                return page.items.first.map { "\($0.state.rawValue) \($0.revision)" }
            }
            #expect(try await card() == "following 2")
            if cause == "ended by the backend" {
                try await world.orchestrator.intake.unsubscribe(world.app, id, DeviceID(stored: "d1"))
            } else {
                try await world.pass(28_800)
                try await world.report("d1", .channel)
                if cause == "reported twice when it is old" { try await world.report("d1", .channel) }
            }
            #expect(try await card() == "ended 2")
        }
    }

    // MARK: Activities

    /// The ids on all pages of so many.
    private func ids(
        _ world: World,
        type: ActivityTypeName? = nil,
        state: ActivityState? = nil,
        limit: Int = 100
    ) async throws -> [[String]] {
        var pages: [[String]] = []
        var cursor: String?
        repeat {
            let request = PageRequest(limit: limit, cursor: cursor)
            let page = try await world.orchestrator.activities(world.app, type: type, state: state, request)
            pages.append(page.items.map(\.activityID.rawValue))
            cursor = page.nextCursor
        } while cursor != nil && pages.count < 10
        return pages
    }

    @Test("Activities are listed the newest first, by type and state, page after page")
    func activities() async throws {
        try await withWorld { world in
            let other = ActivityTypeName(stored: "Race")
            let schemas = TypeRequest.Source.schemas(attributes: ["type": "object"], contentState: ["type": "object"])
            _ = try await world.orchestrator.putType(world.app, other, TypeRequest(source: schemas), force: false)
            for id in ["a1", "a2", "a3", "a4"] { try await world.start(id) }
            try await world.start("a5") { $0.type = other }
            try await world.start("a6") { $0.startsAt = Instant(microseconds: 4_000_000_000_000_000) }
            try await world.end("a2")
            try await world.end("a4")

            #expect(try await ids(world) == [["a6", "a5", "a4", "a3", "a2", "a1"]])
            #expect(try await ids(world, limit: 2) == [["a6", "a5"], ["a4", "a3"], ["a2", "a1"]])
            #expect(try await ids(world, limit: 4) == [["a6", "a5", "a4", "a3"], ["a2", "a1"]])
            #expect(try await ids(world, type: other) == [["a5"]])
            #expect(try await ids(world, type: World.game, limit: 3) == [["a6", "a4", "a3"], ["a2", "a1"]])
            #expect(try await ids(world, state: .ended, limit: 1) == [["a4"], ["a2"]])
            #expect(try await ids(world, state: .scheduled) == [["a6"]])
            #expect(try await ids(world, type: World.game, state: .live) == [["a3", "a1"]])
            #expect(try await ids(world, type: other, state: .ended) == [[]])
        }
    }

    @Test("Activities are listed that a device has a card or a start of, and those with a part of an id")
    func activitiesOfDevice() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "aa01")
            for id in ["final", "semi-1", "semi-2"] { try await world.start(id) }
            try await world.start("started", to: World.devices("d1"))
            try await world.settle()
            try await world.follow("d1", token: "aa02")
            try await world.follow("d2", token: "aa03", in: "semi-1")

            func found(_ device: String? = nil, containing part: String? = nil) async throws -> [String] {
                try await world.orchestrator.activities(
                    world.app,
                    type: nil,
                    state: nil,
                    device: device.map { DeviceID(stored: $0) },
                    containing: part,
                    PageRequest()
                ).items.map(\.activityID.rawValue)
            }
            #expect(try await found("d1") == ["started", "final"])
            #expect(try await found("d2") == ["semi-1"])
            #expect(try await found("nobody") == [])
            #expect(try await found(containing: "emi-") == ["semi-2", "semi-1"])
            #expect(try await found("d2", containing: "final") == [])
        }
    }

    @Test("What is started between two pages shifts none of them")
    func shifting() async throws {
        try await withWorld { world in
            for id in ["a1", "a2", "a3"] { try await world.start(id) }
            let first = try await world.orchestrator.activities(world.app, type: nil, state: nil, PageRequest(limit: 2))
            try await world.start("a4")
            let request = PageRequest(limit: 2, cursor: first.nextCursor)
            let second = try await world.orchestrator.activities(world.app, type: nil, state: nil, request)
            #expect(second.items.map(\.activityID.rawValue) == ["a1"])
            #expect(second.nextCursor == nil)
        }
    }
}

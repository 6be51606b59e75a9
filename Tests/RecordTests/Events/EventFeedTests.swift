import APITypes
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import Orchestrator
@testable import Record
@testable import Store

@Suite("Following events", .timeLimit(.minutes(2))) struct EventFeedTests {
    private static let far = ContinuousClock.now + .seconds(600)

    private func number(_ number: Int) -> Event {
        Event(
            .clockSkew,
            of: .app(BundleID(stored: "com.example.app"), .production),
            ["n": .number(JSONNumber(number))]
        )
    }

    /// Reads until there are so many events, as a stream does.
    private func read(_ count: Int, from place: EventCursor, _ world: World, limit: Int) async throws -> [Int64] {
        var place = place
        var numbers: [Int64] = []
        while numbers.count < count {
            let page = try await world.orchestrator.record.feed
                .page(after: place, matching: EventFilter(kinds: [.clockSkew]), limit: limit, until: Self.far)
            place = page.next
            numbers += page.events.compactMap { $0.detail["n"]?.int64 }
        }
        return numbers
    }

    /// Writers commit in any order while readers follow, one of them a page behind the window at times.
    @Test("Readers who follow miss nothing and read nothing twice, whatever order commits come in")
    func noGaps() async throws {
        try await withWorld { world in
            let place = try await world.orchestrator.eventPlace(nil)
            let feed = EventFeed(
                store: world.orchestrator.record.events,
                interval: .milliseconds(5),
                capacity: 10,
                logger: world.orchestrator.logger
            )
            try await withThrowingTaskGroup(of: [Int64].self) { group in
                group.addTask {
                    await feed.run()
                    return []
                }
                for limit in [1, 7, 100] {
                    group.addTask {
                        var place = place
                        var numbers: [Int64] = []
                        while numbers.count < 60 {
                            let page = try await feed.page(
                                after: place,
                                matching: EventFilter(kinds: [.clockSkew]),
                                limit: limit,
                                until: Self.far
                            )
                            place = page.next
                            numbers += page.events.compactMap { $0.detail["n"]?.int64 }
                        }
                        return numbers
                    }
                }
                try await withThrowingTaskGroup { writers in
                    for writer in 0..<6 {
                        writers.addTask {
                            for turn in 0..<10 {
                                try await world.database.withTransaction { connection in
                                    _ = try await connection.query(EventRows.insertion([number(writer * 10 + turn)]))
                                    try await Task.sleep(for: .milliseconds(writer * 3))
                                }
                            }
                        }
                    }
                    try await writers.waitForAll()
                }
                var stories: [[Int64]] = []
                while stories.count < 3, let story = try await group.next() { stories.append(story) }
                group.cancelAll()
                for story in stories {
                    #expect(story.sorted() == Array(0..<60))
                    #expect(story == stories[0], "all readers agree on the order")
                }
            }
        }
    }

    @Test("Nobody asks the database when nobody reads, and a reader wakes when there is something")
    func wakes() async throws {
        try await withWorld { world in
            let feed = world.orchestrator.record.feed
            let place = try await world.orchestrator.eventPlace(nil)
            async let reader = read(1, from: place, world, limit: 5)
            _ = try await world.database.execute(EventRows.insertion([number(1)]))
            let looking = Task {
                while !Task.isCancelled {
                    try await feed.readOn()
                    try await Task.sleep(for: .milliseconds(5))
                }
            }
            #expect(try await reader == [1])
            looking.cancel()
        }
    }

    /// Writes events, and returns when no older transaction keeps them from readers any more.
    private func insert(_ events: [Event], in world: World) async throws {
        _ = try await world.database.execute(EventRows.insertion(events))
        let written = EventCursor(transaction: try await world.transaction(), event: 0)
        // Transactions of all databases of the cluster count, those of the tests beside this one as well.
        try await eventually("every older transaction ends", every: .milliseconds(5)) {
            try await world.orchestrator.record.events.end() > written
        }
    }

    @Test("One look takes in all that has come, however much it is")
    func oneLook() async throws {
        try await withWorld { world in
            let feed = world.orchestrator.record.feed
            let place = try await world.orchestrator.eventPlace(nil)
            // The window begins for a reader who waits.
            let reader = Task { try await read(1, from: place, world, limit: 5) }
            while feed.readers.withLock({ $0.look(now: .now) }) != .open { await Task.yield() }
            try await feed.readOn()
            reader.cancel()
            _ = await reader.result
            guard case .readOn(let beginning) = feed.readers.withLock({ $0.look(now: .now) }) else {
                Issue.record("There is no window.")
                return
            }
            let count = EventStore.scanned * 2 + 500
            try await insert((1...count).map(number), in: world)
            try await feed.readOn()
            let page = try await feed.page(after: beginning, matching: EventFilter(), limit: 10_000, until: .now)
            let found = (count: page.events.count, isLast: page.isLast)
            #expect(found == (count, true))
        }
    }

    @Test("A reader goes on through pages of which its filter leaves nothing, without waiting for news")
    func throughOthers() async throws {
        try await withWorld { world in
            let place = try await world.orchestrator.eventPlace(nil)
            let last = Event(.demoted, of: .app(BundleID(stored: "com.example.app"), .production))
            try await insert((1...EventStore.scanned * 2).map(number) + [last], in: world)
            // Nobody looks at the database but the reader itself.
            let page = try await world.orchestrator.record.feed.page(
                after: place,
                matching: EventFilter(kinds: [.demoted]),
                limit: 10,
                until: Self.far
            )
            #expect(page.events.count == 1)
        }
    }

    @Test("A reader of one app goes on through the events of others, whatever is the last that was looked at")
    func throughOtherApps() async throws {
        try await withWorld { world in
            let other = BundleID(stored: "com.example.other")
            try await world.database.execute(
                "INSERT INTO apps (bundle_id, team_id) VALUES (\(other.rawValue), 'ABCDE12345')"
            )
            let place = try await world.orchestrator.eventPlace(nil)
            let mine = Event(.demoted, of: .app(world.app, .production))
            let theirs = Event(.demoted, of: .app(other, .production))
            try await insert(
                [mine] + Array(repeating: theirs, count: EventStore.scanned - 2) + [mine, theirs, theirs, mine],
                in: world
            )
            let first = try await world.orchestrator.record.events
                .page(after: place, matching: EventFilter(app: world.app), limit: 10)
            #expect(first.events.count == 2)
            #expect(!first.isLast)
            let second = try await world.orchestrator.record.events
                .page(after: first.next, matching: EventFilter(app: world.app), limit: 10)
            #expect(second.events.count == 1)
            #expect(second.isLast)
            let others = try await world.orchestrator.record.events
                .page(after: place, matching: EventFilter(app: other), limit: 10_000)
            #expect(others.events.count == EventStore.scanned - 2)
            #expect(!others.isLast)
        }
    }

    @Test("Any number of readers who have fallen behind get all they have missed")
    func manyBehind() async throws {
        try await withWorld { world in
            let place = try await world.orchestrator.eventPlace(nil)
            try await insert((1...30).map(number), in: world)
            let stories = try await withThrowingTaskGroup(of: [Int64].self) { group in
                for _ in 1...20 { group.addTask { try await read(30, from: place, world, limit: 7) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(stories == Array(repeating: Array(1...30), count: 20))
        }
    }

    @Test("A reader who stops waiting is let go")
    func cancelled() async throws {
        try await withWorld { world in
            let place = try await world.orchestrator.eventPlace(nil)
            let reader = Task { try await read(1, from: place, world, limit: 5) }
            reader.cancel()
            await #expect(throws: (any Error).self) { try await reader.value }
        }
    }

    @Test("At its deadline a reader gets a place to go on from, behind what was not for it")
    func deadline() async throws {
        try await withWorld { world in
            let place = try await world.orchestrator.eventPlace(nil)
            let page = try await world.orchestrator.nextEvents(
                after: place,
                matching: EventFilter(device: DeviceID(stored: "nobody")),
                within: .zero
            )
            #expect(page.events.isEmpty)
            #expect(page.next >= place)
        }
    }

    @Test(
        "In a database that was restored from a dump, readers begin from the oldest event and get the restored ones first"
    )
    func restored() async throws {
        try await withWorld { world in
            _ = try await world.database.execute(EventRows.insertion([number(1), number(2)]))
            // As a dump of a busier server leaves them.
            _ = try await world.database.execute("UPDATE events SET transaction_id = '99000000000'")
            let remembered = EventCursor(transaction: 99_000_000_000, event: 1).description
            try await RestoredEvents(database: world.database).settle()
            _ = try await world.database.execute(EventRows.insertion([number(3)]))
            #expect(try await world.orchestrator.eventPlace(remembered) == .oldest)
            let told = try await world.events(.clockSkew).map { $0.detail["n"]?.int64 }
            #expect(told == [1, 2, 3])
        }
    }

    @Test("Pages go from the oldest event to the newest, or back, and a text that is no cursor is refused")
    func pages() async throws {
        try await withWorld { world in
            _ = try await world.database.execute(EventRows.insertion((1...5).map(number)))
            _ = try await world.events(.clockSkew)
            var request = PageRequest(limit: 2)
            var numbers: [Int64?] = []
            repeat {
                let page = try await world.orchestrator.events(matching: EventFilter(kinds: [.clockSkew]), request)
                #expect(page.items.count <= 2)
                numbers += page.items.map { $0.detail["n"]?.int64 }
                request.cursor = page.nextCursor
            } while request.cursor != nil
            #expect(numbers == [1, 2, 3, 4, 5])
            numbers = []
            repeat {
                let page = try await world.orchestrator.events(
                    matching: EventFilter(kinds: [.clockSkew]),
                    order: .newestFirst,
                    request
                )
                numbers += page.items.map { $0.detail["n"]?.int64 }
                request.cursor = page.nextCursor
            } while request.cursor != nil
            #expect(numbers == [5, 4, 3, 2, 1])
            await #expect(throws: PageCursor.refused) {
                try await world.orchestrator.events(matching: EventFilter(), PageRequest(cursor: "x"))
            }
        }
    }
}

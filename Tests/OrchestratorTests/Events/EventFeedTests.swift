import APITypes
import ActivityModel
import JSON
import Postgres
import Testing

@testable import Orchestrator

@Suite("Following events", .timeLimit(.minutes(5))) struct EventFeedTests {
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
            let page = try await world.orchestrator.eventFeed
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
                store: world.orchestrator.eventStore,
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
            let feed = world.orchestrator.eventFeed
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
            try await world.orchestrator.eventStore.settleRestored()
            _ = try await world.database.execute(EventRows.insertion([number(3)]))
            #expect(try await world.orchestrator.eventPlace(remembered) == .oldest)
            let told = try await world.events(.clockSkew).map { $0.detail["n"]?.int64 }
            #expect(told == [1, 2, 3])
        }
    }

    @Test("Pages go from the oldest event to the newest, and a text that is no cursor is refused")
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
            await #expect(throws: PageCursor.refused) {
                try await world.orchestrator.events(matching: EventFilter(), PageRequest(cursor: "x"))
            }
        }
    }
}

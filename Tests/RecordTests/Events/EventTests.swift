import APITypes
import APNSTransport
import ActivityModel
import Foundation
import JSON
import OrchestratorTestSupport
import Postgres
import TestSupport
import Testing

@testable import Orchestrator
@testable import Record
@testable import Store

@Suite("Events", .timeLimit(.minutes(2))) struct EventTests {
    @Test("A dead token is reported once, with its device and the reason")
    func aDeadTokenIsReportedOnceWithItsDeviceAndReason() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("phone", token: "aa01", known: 1)
            try await world.follow("other", token: "aa02", known: 1)
            try await world.settle()
            world.recorder.answer("aa01", with: .unregistered(at: nil))
            try await world.update(score: 1)
            try await world.settle()

            let events = try await world.events(.tokenDied)
            #expect(events.map(\.device?.rawValue) == ["phone"])
            #expect(events.first?.activity?.rawValue == "final")
            #expect(events.first?.app == world.app)
            #expect(events.first?.environment == .production)
            #expect(events.first?.detail == ["token": "update", "reason": "410 Unregistered"])
        }
    }

    @Test("A token that the app reported after its death is not reported as dead")
    func aTokenThatWasReportedAfterItsDeathIsNotReportedDead() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("phone", token: "aa01", known: 1)
            try await world.settle()
            world.recorder.answer("aa01", with: .unregistered(at: 1_000))
            try await world.update(score: 1)
            try await world.settle()

            #expect(try await world.events(.tokenDied).isEmpty)
        }
    }

    @Test("Every accepted change is an event, and one that is refused is none")
    func everyAcceptedChangeIsAnEvent() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.update(score: 1)
            try await world.update(score: 1)
            try await world.end(score: 2)
            await #expect(throws: Problem.self) { try await world.update(score: 3) }

            let events = try await world.events(.changeAccepted)
            #expect(events.map { $0.detail["event"] } == ["start", "update", "end"])
            #expect(events.map { $0.detail["revision"] } == [1, 2, 3])
            #expect(events.allSatisfy { $0.activity?.rawValue == "final" && $0.app == world.app })
            #expect(events.allSatisfy { $0.environment == .production && $0.device == nil })
        }
    }

    @Test("Pushes to many phones are one event, which counts their answers")
    func pushesAreCounted() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.crowd(300)
            try await world.settle()
            try await world.writeTimeline()
            let before = try await world.events(.pushesAnswered).count
            world.recorder.answer(World.crowdToken(7), with: .unregistered(at: nil))
            try await world.update(score: 1)
            try await world.settle()
            try await world.writeTimeline()

            let events = try await world.events(.pushesAnswered).dropFirst(before)
            #expect(events.count == 1)
            #expect(events.first?.activity?.rawValue == "final")
            #expect(events.first?.app == world.app)
            #expect(
                events.first?.detail == [
                    "event": "update", "priority": 5, "destination": "devices", "pushes": 300,
                    "answers": ["200": 299, "410 Unregistered": 1], "revision": 2,
                ]
            )
        }
    }

    @Test("A schedule that fails is reported") func aScheduleThatFailsIsReported() async throws {
        try await withWorld { world in
            try await world.start()
            _ = try await world.database.execute(
                """
                INSERT INTO schedules (activity_key, bundle_id, kind, due_at, body)
                SELECT activity_key, bundle_id, 'update', now(), '{"content_state": {"score": "many"}}' FROM activities
                """
            )
            _ = try await ScheduleRunner(orchestrator: world.orchestrator).runDue()

            let failed = try await world.events(.scheduleFailed)
            #expect(failed.map(\.activity?.rawValue) == ["final"])
            #expect(failed.first?.detail["kind"] == "update")
            #expect(failed.first?.detail["reason"] == "invalid_content_state")
        }
    }

    /// Numbers are given out before they are committed: what commits later under a lower number must not be missed, and
    /// nothing may be read twice.
    @Test("A reader misses nothing when commits come out of order") func aReaderMissesNothingWhenCommitsComeOutOfOrder()
        async throws
    {
        try await withWorld { world in
            let first = Event(.clockSkew, of: .app(world.app, .production), ["n": 1])
            let second = Event(.clockSkew, of: .app(world.app, .production), ["n": 2])
            var read: [JSONValue?] = []
            var place = EventCursor.oldest
            let all = EventFilter()
            func readOn() async throws {
                let page = try await world.orchestrator.record.events.page(after: place, matching: all, limit: 1)
                read += page.events.map { $0.detail["n"] }
                place = page.next
            }
            func readOn(to count: Int) async throws {
                let deadline = ContinuousClock.now + .seconds(60)
                while read.count < count, ContinuousClock.now < deadline { try await readOn() }
            }
            try await world.database.withTransaction { early in
                _ = try await early.query(EventRows.insertion([first]))
                _ = try await world.database.execute(EventRows.insertion([second]))
                try await readOn()
                #expect(read.isEmpty, "the order of the second event is not final yet")
            }
            try await readOn(to: 2)
            #expect(read == [1, 2])
            _ = try await world.database.execute(EventRows.insertion([second, first]))
            try await readOn(to: 4)
            #expect(read == [1, 2, 2, 1])
        }
    }

    @Test("Changes wait for older transactions as other events do, and each is read once")
    func changesInOrder() async throws {
        try await withWorld { world in
            try await world.start()
            let store = world.orchestrator.record.events
            func page(after place: EventCursor) async throws -> EventPage {
                try await store.page(after: place, matching: EventFilter(kinds: [.changeAccepted]), limit: 10)
            }
            /// Other tests on the same server may hold the order open for a moment.
            func read(_ count: Int) async throws -> [EventRecord] {
                try await eventually("\(count) changes can be read") {
                    let events = try await page(after: .oldest).events
                    return events.count >= count ? events : nil
                }
            }
            _ = try await read(1)
            try await world.database.withTransaction { early in
                _ = try await early.query(
                    EventRows.insertion([Event(.clockSkew, of: .app(world.app, .production))])
                )
                try await world.update(score: 1)
                let events = try await page(after: .oldest).events
                #expect(events.map { $0.detail["revision"] } == [1], "the order of the update is not final yet")
            }
            try await world.update(score: 2)
            let events = try await read(3)
            #expect(events.map { $0.detail["revision"] } == [1, 2, 3])
            for (number, event) in events.enumerated() {
                let rest = try await page(after: event.cursor).events
                #expect(rest == Array(events[(number + 1)...]))
            }
        }
    }

    @Test("More events than one look at the database takes are read to the last, whatever of them is wanted")
    func manyLooks() async throws {
        try await withWorld { world in
            let count = EventStore.scanned * 2 + 500
            let rare = Event(.demoted, of: .app(world.app, .production))
            let common = Event(.clockSkew, of: .app(world.app, .production))
            for _ in 1...5 {
                _ = try await world.database.execute(
                    EventRows.insertion([rare] + Array(repeating: common, count: count / 5 - 1))
                )
            }
            func read(_ kind: Event.Kind) async throws -> [String] {
                var request = PageRequest(limit: 1_000)
                var ids: [String] = []
                repeat {
                    let page = try await world.orchestrator.events(matching: EventFilter(kinds: [kind]), request)
                    ids += page.items.map(\.id)
                    request.cursor = page.nextCursor
                } while request.cursor != nil
                return ids
            }
            // Other tests on the same server may hold the order open for a moment.
            try await eventually("all can be read") { try await read(.demoted).count == 5 }
            let ids = try await read(.clockSkew)
            #expect(ids.count == count - 5)
            #expect(Set(ids).count == ids.count)
        }
    }

    @Test("A reader moves on over what its filter leaves out") func aFilteredReaderStillMovesOn() async throws {
        try await withWorld { world in
            try await world.start()
            let event = Event(.clockSkew, of: .app(world.app, .sandbox))
            _ = try await world.database.execute(EventRows.insertion([event, event]))
            #expect(try await world.events(.clockSkew).count == 2)
            let none = EventFilter(app: world.app, activity: ActivityID(stored: "other"))
            let page = try await world.orchestrator.record.events.page(after: .oldest, matching: none, limit: 10)
            #expect(page.events.isEmpty)
            let rest = try await world.orchestrator.record.events
                .page(after: page.next, matching: EventFilter(), limit: 10)
            #expect(rest.events.isEmpty, "the place is behind what the filter left out")
        }
    }

    @Test("The page on events describes every kind that is written, and no other")
    func everyKindIsDescribed() throws {
        let file = URL(filePath: #filePath).appending(path: "../../../../docs/reference/events.md")
        let page = try String(contentsOf: file.standardized, encoding: .utf8)
        let described = page.split(separator: "\n").compactMap { line in
            line.hasPrefix("| `") ? line.dropFirst(3).prefix { $0 != "`" } : nil
        }
        #expect(Set(described.map(String.init)) == Set(Event.Kind.known.map(\.word)))
        #expect(described.count == Event.Kind.known.count)
    }

    @Test(
        "Text that is no place is refused",
        arguments: ["", "1", "1-", "-1", "+1-2", "1-2-3", "1- 2", "99999999999999999999-1", "1-9223372036854775808"]
    )
    func aPlaceThatIsNoneIsRefused(_ text: String) {
        #expect(EventCursor(text) == nil)
    }

    @Test("A place is read back from its text") func aPlaceIsReadBack() {
        let cursor = EventCursor(transaction: .max, event: .max)
        #expect(EventCursor(cursor.description) == cursor)
    }
}

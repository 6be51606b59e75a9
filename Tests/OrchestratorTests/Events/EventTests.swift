import APNSTransport
import ActivityModel
import JSON
import Postgres
import Testing

@testable import Orchestrator

@Suite("Events") struct EventTests {
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

    @Test("A schedule that fails is reported") func aScheduleThatFailsIsReported() async throws {
        try await withWorld { world in
            try await world.start()
            _ = try await world.database.execute(
                """
                INSERT INTO schedules (activity_key, kind, due_at, body)
                SELECT activity_key, 'update', now(), '{"content_state": {"score": "many"}}' FROM activities
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
            var place: EventCursor?
            func readOn() async throws {
                let page = try await world.orchestrator.events(after: place, limit: 1)
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

    @Test("A reader moves on over what its filter leaves out") func aFilteredReaderStillMovesOn() async throws {
        try await withWorld { world in
            try await world.start()
            let event = Event(.clockSkew, of: .app(world.app, .sandbox))
            _ = try await world.database.execute(EventRows.insertion([event, event]))
            #expect(try await world.events(.clockSkew).count == 2)
            let none = EventFilter(app: world.app, activity: ActivityID(stored: "other"))
            let page = try await world.orchestrator.events(after: nil, matching: none, limit: 10)
            #expect(page.events.isEmpty)
            let rest = try await world.orchestrator.events(after: page.next, limit: 10)
            #expect(rest.events.isEmpty, "the place is behind what the filter left out")
        }
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

import APITypes
import ActivityModel
import JSON
import Postgres
import SystemSupport
import TallyClient
import TestSupport
import Testing

@Suite("What is due later")
struct ScheduleTests {
    private static let alert = AlertContent(title: .plain("Ajax – PSV"), body: .plain("Kick-off"))
    private static let attributes: JSONObject = ["homeTeam": "Ajax", "awayTeam": "PSV", "competition": "Friendly"]

    private static func content(minute: Int64, period: String = "firstHalf") -> JSONObject {
        ["homeScore": 0, "awayScore": 0, "minute": .number(JSONNumber(minute)), "period": .string(period)]
    }

    private static func start(
        _ delivery: Delivery = .tokens,
        devices: [String],
        startsAt: Instant? = nil,
        endsAt: Instant? = nil
    ) -> StartRequest {
        StartRequest(
            type: TallySystem.type,
            attributes: attributes,
            contentState: content(minute: 0),
            audience: Audience(devices: devices.map { knownGood(DeviceID($0)) }),
            delivery: delivery,
            alert: alert,
            startsAt: startsAt,
            endsAt: endsAt
        )
    }

    @Test(
        "an activity with ends_at ends by itself on every phone, and not before",
        arguments: [Delivery.tokens, .channel]
    )
    func endsByItself(delivery: Delivery) async throws {
        try await TallySystem.with { system in
            let id = knownGood(ActivityID("ends-by-itself"))
            let phones = (1...5).map { "fan-\($0)" }
            try await system.simulator.makePhones("fan-", count: 5, of: TallySystem.app, follows: id)
            try await system.simulator.finishReports()
            let endsAt = Clock.inSeconds(3)
            let client = try system.client()
            _ = try await client.start(TallySystem.app, id, Self.start(delivery, devices: phones, endsAt: endsAt))
            #expect(try await system.activity(id).endsAt == endsAt)

            try await eventually("all phones have ended") {
                try await system.simulator.phones("fan-").allSatisfy { $0.state(of: id.rawValue) == "ended" }
            }
            let activity = try await system.activity(id)
            #expect(activity.state == .ended)
            #expect(activity.revision == 2)
            #expect(activity.contentState == Self.content(minute: 0))
            #expect(try #require(activity.endedAt) >= endsAt)
            for phone in phones {
                let story = try await system.simulator.phone(phone)
                let ends = story.pushes.filter { $0["event"]?.string == "end" }
                #expect(ends.count == 1)
                #expect(ends.allSatisfy { $0["received_at_ms"]?.int64 ?? 0 >= endsAt.microseconds / 1_000 })
                #expect(story.contentState(of: id.rawValue) == .object(Self.content(minute: 0)))
            }
            try await expectNoOpenSchedules(of: id, in: system)
        }
    }

    @Test("an update and an end with 'at' happen at their time, in their order")
    func changesAtTheirTime() async throws {
        try await TallySystem.with { system in
            let id = knownGood(ActivityID("scheduled-changes"))
            try await system.simulator.makePhones("fan-", count: 3, of: TallySystem.app, follows: id)
            try await system.simulator.finishReports()
            let client = try system.client()
            _ = try await client.start(TallySystem.app, id, Self.start(devices: (1...3).map { "fan-\($0)" }))
            let (updateAt, endAt) = (Clock.inSeconds(2), Clock.inSeconds(3.5))
            let end = try await client.end(
                TallySystem.app,
                id,
                EndRequest(contentState: Self.content(minute: 90, period: "ended"), at: endAt)
            )
            let update = try await client.update(
                TallySystem.app,
                id,
                UpdateRequest(contentState: Self.content(minute: 45, period: "halfTime"), at: updateAt)
            )
            let open = try await system.activity(id)
            #expect(open.revision == 1)
            #expect(open.schedules.map(\.dueAt) == [updateAt, endAt])
            #expect(open.schedules.map { ChangeAnswer.scheduled(scheduleID: $0.id) } == [update, end])
            // A change that is posted meanwhile is only older.
            let now = try await client.update(TallySystem.app, id, UpdateRequest(contentState: Self.content(minute: 1)))
            #expect(try now.acceptedRevision == 2)

            try await eventually("all phones have ended") {
                try await system.simulator.phones("fan-").allSatisfy { $0.state(of: id.rawValue) == "ended" }
            }
            let activity = try await system.activity(id)
            #expect(activity.revision == 4)
            #expect(activity.contentState == Self.content(minute: 90, period: "ended"))
            try await expectNoOpenSchedules(of: id, in: system)
            for phone in ["fan-1", "fan-2", "fan-3"] {
                let story = try await system.simulator.phone(phone)
                #expect(story.contentState(of: id.rawValue) == .object(Self.content(minute: 90, period: "ended")))
                let halfTime = story.pushes.filter { $0["content_state"]?["period"]?.string == "halfTime" }
                #expect(halfTime.count == 1)
                #expect(halfTime.allSatisfy { $0["received_at_ms"]?.int64 ?? 0 >= updateAt.microseconds / 1_000 })
            }
        }
    }

    @Test("a schedule that is cancelled does not happen")
    func cancelsSchedule() async throws {
        try await TallySystem.with { system in
            let id = knownGood(ActivityID("cancelled-end"))
            let client = try system.client()
            _ = try await client.start(TallySystem.app, id, Self.start(devices: []))
            let answer = try await client.end(TallySystem.app, id, EndRequest(at: Clock.inSeconds(2)))
            guard case .scheduled(let scheduleID) = answer else {
                Issue.record("accepted instead of scheduled")
                return
            }
            try await client.cancelSchedule(TallySystem.app, scheduleID)
            // A later one shows that the time of the cancelled one has passed.
            _ = try await client.update(
                TallySystem.app,
                id,
                UpdateRequest(contentState: Self.content(minute: 9), at: Clock.inSeconds(2.5))
            )
            try await eventually("the update has happened") { try await system.activity(id).revision == 2 }
            #expect(try await system.activity(id).state == .live)
        }
    }

    @Test(
        "an activity with starts_at starts then, with what was posted meanwhile",
        arguments: [Delivery.tokens, .channel]
    )
    func startsAtItsTime(delivery: Delivery) async throws {
        try await TallySystem.with { system in
            let id = knownGood(ActivityID("starts-later"))
            let phones = (1...4).map { "fan-\($0)" }
            try await system.simulator.makePhones("fan-", count: 4, of: TallySystem.app, follows: id)
            try await system.simulator.finishReports()
            let startsAt = Clock.inSeconds(3)
            let client = try system.client()
            let answer = try await client.start(
                TallySystem.app,
                id,
                Self.start(delivery, devices: phones, startsAt: startsAt)
            )
            #expect(answer.answer.state == .scheduled)
            #expect(answer.answer.timestamp == nil)
            _ = try await client.update(TallySystem.app, id, UpdateRequest(contentState: Self.content(minute: 2)))

            try await eventually("all phones show it") {
                try await system.simulator.phones("fan-").allSatisfy {
                    $0.contentState(of: id.rawValue) == .object(Self.content(minute: 2))
                }
            }
            let activity = try await system.activity(id)
            #expect(activity.state == .live)
            #expect(try #require(activity.startedAt) >= startsAt)
            for phone in phones {
                let story = try await system.simulator.phone(phone)
                #expect(story.cards(of: id.rawValue).count == 1)
                #expect(story.pushes.allSatisfy { $0["received_at_ms"]?.int64 ?? 0 >= startsAt.microseconds / 1_000 })
            }
        }
    }

    @Test("what became due while no daemon ran happens once, late")
    func runsLate() async throws {
        try await TallySystem.with { system in
            let client = try system.client()
            let (ending, starting) = (knownGood(ActivityID("late-end")), knownGood(ActivityID("late-start")))
            try await system.simulator.makePhones("ending-", count: 3, of: TallySystem.app, follows: ending)
            try await system.simulator.makePhones("starting-", count: 3, of: TallySystem.app, follows: starting)
            try await system.simulator.finishReports()
            let due = Clock.inSeconds(3)
            _ = try await client.start(
                TallySystem.app,
                ending,
                Self.start(devices: (1...3).map { "ending-\($0)" }, endsAt: due)
            )
            _ = try await client.update(
                TallySystem.app,
                ending,
                UpdateRequest(
                    contentState: Self.content(minute: 88),
                    at: Instant(microseconds: due.microseconds - 500_000)
                )
            )
            _ = try await client.start(
                TallySystem.app,
                starting,
                Self.start(devices: (1...3).map { "starting-\($0)" }, startsAt: due)
            )
            try await eventually("the phones show the first") {
                try await system.simulator.phones("ending-").allSatisfy { !$0.cards(of: ending.rawValue).isEmpty }
            }
            try await system.simulator.finishReports()
            try await system.settleStarts()

            await system.killDaemon()
            let wait = due.microseconds + 1_000_000 - Clock.milliseconds * 1_000
            await pause(.microseconds(max(0, wait)))
            #expect(
                try await system.simulator.phones("starting-").allSatisfy { $0.cards(of: starting.rawValue).isEmpty }
            )
            let restartedAt = Clock.milliseconds
            try await system.startDaemon()

            try await eventually("the first has ended everywhere, and the second is shown everywhere") {
                let phones = try await system.simulator.phones()
                return phones.allSatisfy { phone in
                    phone.id.hasPrefix("ending-")
                        ? phone.state(of: ending.rawValue) == "ended" : phone.state(of: starting.rawValue) == "active"
                }
            }
            let kinds = try await system.database.query(
                """
                SELECT string_agg(c.kind::text, ' ' ORDER BY c.revision) FROM changes AS c JOIN activities USING (activity_key)
                WHERE activity_id = \(ending.rawValue)
                """
            ).first(as: String.self)
            #expect(kinds == "start update end")
            #expect(try await system.activity(ending).contentState == Self.content(minute: 88))
            for phone in ["ending-1", "ending-2", "ending-3"] {
                let story = try await system.simulator.phone(phone)
                #expect(story.contentState(of: ending.rawValue) == .object(Self.content(minute: 88)))
                let ends = story.pushes.filter { $0["event"]?.string == "end" }
                #expect(ends.count == 1)
                #expect(ends.allSatisfy { $0["received_at_ms"]?.int64 ?? 0 >= restartedAt })
            }
            let started = try await system.simulator.phones("starting-")
            #expect(started.allSatisfy { $0.cards(of: starting.rawValue).count == 1 })
            try await expectNoOpenSchedules(of: ending, in: system)
            try await expectNoOpenSchedules(of: starting, in: system)
        }
    }

    private func expectNoOpenSchedules(of id: ActivityID, in system: TallySystem) async throws {
        let states = try await system.database.query(
            """
            SELECT s.state::text FROM schedules AS s JOIN activities AS a USING (activity_key)
            WHERE a.activity_id = \(id.rawValue)
            """
        ).decoded(as: String.self)
        #expect(!states.isEmpty)
        #expect(states.allSatisfy { $0 == "done" })
        #expect(try await system.activity(id).schedules.isEmpty)
    }
}

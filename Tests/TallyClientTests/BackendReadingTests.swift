import APITypes
import ActivityModel
import Foundation
import JSON
import TallyClient
import Testing

/// What a backend reads: where an activity stands, and why.
@Suite("Reading for backends")
struct BackendReadingTests {
    private static let started = Instant(microseconds: 1_671_375_600_500_000)

    private func withBackend(
        _ answer: JSONValue,
        _ body: (TallyBackend, ScriptedServer) async throws -> Void
    ) async throws {
        let server = try ScriptedServer { _, _ in .answer(status: 200, body: answer.text) }
        defer { server.stop() }
        // Whether a request comes through is what is tried here, not how long a busy machine takes for it.
        let tally = try TallyBackend(url: server.url, key: "k", app: "com.example.pizza", deadline: .seconds(300))
        try await body(tally, server)
    }

    private var activity: ActivityResource {
        get throws {
            ActivityResource(
                activityID: try #require(ActivityID("o-1")),
                type: try #require(ActivityTypeName("Order")),
                environment: .sandbox,
                state: .live,
                revision: 7,
                timestamp: nil,
                delivery: .hybrid,
                contentState: ["step": "baking", "price": try JSONValue(parsing: "12.3400")],
                attributes: ["number": "7"],
                createdAt: Self.started,
                startedAt: Self.started,
                channel: ChannelReference(
                    id: try #require(ChannelID("6b2f0b5e-5b0c-4b7e-8a5e-0d7f8a1f9c11")),
                    apnsChannelID: APNSChannelID("dHN0LXNyY2gtY2hubA=="),
                    state: .ready
                ),
                progress: DeliveryProgress(
                    destinations: 6,
                    current: 1,
                    pending: 2,
                    waitingForToken: 3,
                    waitingToBegin: 8,
                    dead: 4,
                    withheld: 5
                ),
                starts: StartProgress(
                    enrolling: true,
                    pending: 1,
                    sent: 2,
                    unanswered: 3,
                    confirmed: 4,
                    repeated: 5,
                    withheld: 6,
                    failed: 7,
                    reasons: ["needs_ios_18": 6]
                ),
                schedules: [
                    ScheduleResource(
                        id: "s-1",
                        activityID: try #require(ActivityID("o-1")),
                        kind: .end,
                        dueAt: Self.started,
                        state: .failed,
                        reason: "activity_ended"
                    )
                ]
            )
        }
    }

    @Test("an activity is shown with its state, digit by digit, and with how far it has come")
    func status() async throws {
        let shown = try activity
        try await withBackend(shown.json) { tally, server in
            let status = try await tally.activity("o-1")
            #expect(server.received.map(\.target) == ["/v1/apps/com.example.pizza/activities/o-1"])
            #expect(status.id == "o-1" && status.type == "Order" && status.isSandbox)
            #expect(status.state == .live && status.revision == 7 && status.delivery == .hybrid)
            #expect(String(decoding: status.contentState, as: UTF8.self) == #"{"step":"baking","price":12.3400}"#)
            #expect(String(decoding: status.attributes, as: UTF8.self) == #"{"number":"7"}"#)
            #expect(status.startedAt == Date(timeIntervalSince1970: 1_671_375_600.5))
            #expect(status.createdAt == status.startedAt && status.endedAt == nil)
            #expect(status.startsAt == nil && status.endsAt == nil)
            #expect(status.channelID == "dHN0LXNyY2gtY2hubA==")
            let progress = status.progress
            #expect(progress.destinations == 6 && progress.current == 1 && progress.pending == 2)
            #expect(progress.waitingForToken == 3 && progress.waitingToBegin == 8)
            #expect(progress.dead == 4 && progress.withheld == 5)
            let starts = status.starts
            #expect(starts.enrolling && starts.pending == 1 && starts.sent == 2)
            #expect(starts.unanswered == 3 && starts.confirmed == 4)
            #expect(starts.repeated == 5 && starts.withheld == 6 && starts.failed == 7)
            #expect(starts.reasons == ["needs_ios_18": 6])
            let schedule = try #require(status.schedules.first)
            #expect(schedule.id == "s-1" && schedule.kind == "end" && schedule.dueAt == status.startedAt)
            #expect(schedule.state == "failed" && schedule.reason == "activity_ended")
        }
    }

    @Test("every word of an activity's state has its Swift case", arguments: ActivityState.allCases)
    func states(state: ActivityState) async throws {
        var shown = try activity
        shown.state = state
        try await withBackend(shown.json) { tally, _ in
            let status = try await tally.activity("o-1")
            #expect(status.state.rawValue == state.rawValue)
        }
    }

    @Test("the story of one device is told page by page, with what it comes to")
    func story() async throws {
        var entry = TimelineEntry(at: Self.started, kind: "push", text: "Sent.")
        entry.deviceID = DeviceID("d1")
        entry.revision = 7
        entry.priority = 10
        entry.outcome = "token_dead"
        entry.reason = "Unregistered"
        entry.explanation = "The app is gone."
        let told = TimelineAnswer(
            activityID: try #require(ActivityID("o-1")),
            deviceID: entry.deviceID,
            state: .ended,
            revision: 7,
            verdict: Verdict("token_dead", "Its token is dead."),
            page: Page(items: [entry], nextCursor: "c/2")
        )
        try await withBackend(told.json) { tally, server in
            let story = try await tally.explain("o-1", device: "d1", limit: 1, cursor: "c/1")
            let target = "/v1/apps/com.example.pizza/activities/o-1/timeline"
            let asked = try #require(server.received.first?.target.split(separator: "?"))
            #expect(asked.first.map(String.init) == target)
            #expect(Set(asked[1].split(separator: "&")) == ["device_id=d1", "limit=1", "cursor=c%2F1"])
            #expect(story.activity == "o-1" && story.device == "d1" && story.state == .ended && story.revision == 7)
            #expect(story.verdict.code == "token_dead" && story.verdict.text == "Its token is dead.")
            #expect(story.nextCursor == "c/2")
            let told = try #require(story.entries.first)
            #expect(told.kind == "push" && told.text == "Sent." && told.device == "d1" && told.revision == 7)
            #expect(told.priority == 10 && told.outcome == "token_dead" && told.reason == "Unregistered")
            #expect(told.explanation == "The app is gone." && told.at == Date(timeIntervalSince1970: 1_671_375_600.5))
            _ = try await tally.explain("o-1")
            #expect(server.received.last?.target == target + "?limit=100")
        }
    }

    @Test("an id that cannot be one is refused before anything is asked; an activity that is not there is said")
    func refusals() async throws {
        let server = try ScriptedServer { _, _ in .answer(status: 404, body: Problem.notFound("the activity").json.text)
        }
        defer { server.stop() }
        let tally = try TallyBackend(url: server.url, key: "k", app: "com.example.pizza")
        let missing = try await #require(throws: TallyError.self) { try await tally.activity("o-1") }
        #expect(missing.code == "not_found" && !missing.isUnknown)
        for id in ["", "a\n"] {
            let error = try await #require(throws: TallyError.self) { try await tally.explain(id) }
            #expect(error.code == "invalid_argument")
        }
        let error = try await #require(throws: TallyError.self) { try await tally.explain("o-1", device: "") }
        #expect(error.code == "invalid_argument")
        #expect(server.received.count == 1)
    }
}

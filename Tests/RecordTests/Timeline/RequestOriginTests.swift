import APITypes
import ActivityModel
import Intake
import JSON
import OrchestratorTestSupport
import Postgres
import TestSupport
import Testing

@testable import Orchestrator
@testable import Record
@testable import Store

@Suite("From a request to what APNs answered, and back", .timeLimit(.minutes(3)))
struct RequestOriginTests {
    private static let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    private static func origin(_ requestID: String, trace: String? = trace) -> RequestOrigin {
        RequestOrigin(requestID: requestID, trace: trace.flatMap { TraceParent($0) })
    }

    private func entries(_ world: World, of kind: String) async throws -> [TimelineEntry] {
        try await world.orchestrator.timeline(
            world.app,
            ActivityID(stored: "final"),
            device: nil,
            PageRequest(limit: 1_000)
        ).page.items.filter { $0.kind == kind }
    }

    /// By their revisions. Other tests on the same server may hold their order open for a moment.
    private func events(_ world: World, _ kind: Event.Kind, count: Int) async throws -> [EventResource] {
        try await eventually("\(count) events can be read") {
            let events = try await world.orchestrator.events(
                matching: EventFilter(app: world.app, kinds: [kind]),
                PageRequest(limit: 1_000)
            ).items
            guard events.count >= count else { return nil }
            return events.sorted { ($0.detail["revision"]?.int64 ?? 0) < ($1.detail["revision"]?.int64 ?? 0) }
        }
    }

    @Test("Change, pushes, events and log lines name the request that brought the change")
    func pushes() async throws {
        try await withWorld { world in
            let log = LogLines()
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1"), origin: Self.origin("request-1"))
            try await world.settle()
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            try await world.update(score: 1, origin: Self.origin("request-2", trace: nil))
            try await world.settle()
            try await world.update(score: 2)
            try await world.settle()
            try await world.writeTimeline(log.logger)

            let accepted = try await entries(world, of: "accepted")
            #expect(accepted.map(\.requestID) == [nil, "request-2", "request-1"])
            #expect(accepted.map(\.traceParent) == [nil, nil, Self.trace])
            let pushes = try await entries(world, of: "push")
            #expect(pushes.map(\.requestID) == [nil, "request-2", "request-1"])
            #expect(pushes.map(\.apnsID) == ["id-aa01", "id-aa01", "id-5a01"])

            for kind in [Event.Kind.changeAccepted, .pushesAnswered] {
                let events = try await events(world, kind, count: 3)
                #expect(events.map { $0.detail["request_id"]?.string } == ["request-1", "request-2", nil], "\(kind)")
                #expect(events.map { $0.detail["traceparent"]?.string } == [Self.trace, nil, nil], "\(kind)")
            }

            let lines = log.all.filter { $0.contains("push answered") }
            #expect(lines.count == 2)
            #expect(
                lines.contains(
                    "debug push answered activity.id=final apns.id=id-5a01 apns.status=200 app=com.example.app event=start "
                        + "request.id=request-1 revision=1 trace.id=4bf92f3577b34da6a3ce929d0e0e4736 "
                        + "trace.parent_span=00f067aa0ba902b7"
                )
            )
            #expect(lines.contains { $0.contains("apns.id=id-aa01") && $0.contains("request.id=request-2") })
        }
    }

    @Test("Of more than 1,000 destinations the log has a line per batch, not per push")
    func batches() async throws {
        try await withWorld { world in
            let log = LogLines()
            try await world.start(alert: nil)
            try await world.settle()
            try await world.crowd(1_500)
            try await world.update(score: 1, origin: Self.origin("request-1"))
            try await world.settle()
            try await world.writeTimeline(log.logger)
            let lines = log.all.filter { $0.contains("request.id=request-1") }
            #expect(lines.count == 1)
            #expect(lines.first?.contains("debug pushes answered") == true)
            #expect(lines.first?.contains("apns.answers=1500 × 200 ") == true)
        }
    }

    @Test("What a schedule brings is told of as its request's; also what is run before its time by another one")
    func schedules() async throws {
        try await withWorld(policy: { $0.endWhenSilentSeconds = 7_200 }) { world in
            try await world.start(alert: nil, origin: Self.origin("request-1"))
            var ids: [String] = []
            for number in 2...3 {
                var request = UpdateRequest(contentState: World.state(Int64(number)))
                request.at = Instant(unixSeconds: 4_000_000_000)
                let answer = try await world.orchestrator.intake.update(
                    world.app,
                    ActivityID(stored: "final"),
                    request,
                    origin: Self.origin("request-\(number)")
                )
                guard case .scheduled(let id) = answer.answer else { throw Accepted.IsScheduled() }
                ids.append(id)
            }
            let runner = Caller(keyID: "key", requestID: "request-4")
            _ = try await runner.acting { try await world.orchestrator.runSchedule(world.app, ids[0]) }
            _ = try await world.database.execute(
                "UPDATE schedules SET due_at = now() WHERE schedule_id = \(ids[1])::uuid"
            )
            while try await ScheduleRunner(orchestrator: world.orchestrator).runDue() {}
            try await world.pass(7_300)
            while try await ScheduleRunner(orchestrator: world.orchestrator).runDue() {}
            let accepted = try await entries(world, of: "accepted")
            #expect(accepted.map(\.requestID) == ["request-1", "request-3", "request-2", "request-1"])
            #expect(accepted.first?.event == "end")
        }
    }
}

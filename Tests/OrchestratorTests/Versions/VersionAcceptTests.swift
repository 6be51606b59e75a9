import APITypes
import APNSTransport
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import Record
import TestSupport
import Testing

@testable import Intake
@testable import Orchestrator
@testable import Registry
@testable import Store

@Suite("Content for several versions of the app", .timeLimit(.minutes(2)))
struct VersionAcceptTests {
    @Test("A phone that invents versions leaves a bounded number of rows, and takes no other phone's away")
    func inventedVersions() async throws {
        try await withWorld { world in
            try await world.startForBoth(old: "1.4")
            for number in 1...300 { try await world.install("1.5.\(number)", on: "new") }
            #expect(try await world.number("SELECT count(*) FROM activity_app_versions") ?? 0 <= 130)
            #expect(try await refusingVersions { try await world.updateNew(2) } == [1])
            try await world.install("2.1", on: "new")
            #expect(try await refusingVersions { try await world.updateNew(2) } == [1], "The other phone has 1.4.")
            try await world.updateBoth(score: 3)
            try await world.settle()
            for token in ["aa01", "aa02"] { #expect(world.recorder.pushes(to: token).last?.score == 3) }
        }
    }

    @Test("A version that was forgotten is judged anew when a phone has it again")
    func forgottenVersion() async throws {
        try await withWorld { world in
            try await world.registerVersion()
            try await world.start { $0.contentState["clock"] = "0" }
            try await world.install("1.4", on: "old")
            try await world.follow("old", token: "aa01")
            try await world.retire(1)
            try await world.updateNew(1)
            for number in 1...260 { try await world.install("2.1.\(number)", on: "old") }
            #expect(
                try await world.number("SELECT count(*) FROM activity_app_versions WHERE app_version = '1.4'") == 0
            )
            try await world.settle()
            #expect(try await world.subscription("old") == "riding")
            try await world.install("1.4", on: "old")
            try await world.settle()
            #expect(try await world.subscription("old") == "withheld")
        }
    }

    @Test("Of reports that come together one by an app of a new version is judged, too")
    func together() async throws {
        try await withWorld { world in
            try await world.registerVersion()
            try await world.start { $0.contentState["clock"] = "0" }
            for (device, version) in [("first", "2.1"), ("new", "2.1"), ("old", "1.4")] {
                try await world.install(version, on: device)
            }
            try await world.follow("first", token: "aa00")
            try await world.updateNew(1)
            let cards = try [("new", "aa01"), ("old", "aa02")].map { device, token in
                ReportedCard(
                    app: world.app,
                    activity: ActivityID(stored: "final"),
                    device: DeviceID(stored: device),
                    request: SubscriptionRequest(.updateToken(try #require(PushToken(hex: token))))
                )
            }
            for answer in await world.orchestrator.intake.accept(cards) { _ = try answer.get() }
            try await world.settle()
            #expect(try await world.subscription("new") == "riding")
            #expect(try await world.subscription("old") == "withheld")
        }
    }

    @Test("An app of a new version is judged on the connection that its report has")
    func oneConnection() async throws {
        try await withWorld(connections: 1) { world in
            try await world.startForBoth(old: "1.4")
            world.orchestrator.registry.caches.types.removeAll()
            try await world.install("1.5", on: "old")
            #expect(try await refusingVersions { try await world.updateNew(2) } == [1])
        }
    }

    @Test("Content must be decodable by every version that a live card uses; the answer names the one that refuses it")
    func inUse() async throws {
        try await withWorld { world in
            try await world.registerVersion()
            try await world.install("1.4", on: "old")
            try await world.install("2.1", on: "new")
            try await world.start()
            // Nobody follows yet.
            #expect(try await refusingVersions { try await world.updateNew(1) } == nil)
            #expect(try await refusingVersions { try await world.updateBoth(score: 1) } == nil)
            try await world.follow("old", token: "aa01")
            #expect(try await refusingVersions { try await world.updateNew(2) } == [1])
            #expect(try await refusingVersions { try await world.updateOld(score: 2) } == nil)
            #expect(try await refusingVersions { try await world.updateBoth(score: 3) } == nil)
            try await world.follow("new", token: "aa02")
            #expect(try await refusingVersions { try await world.updateOld(score: 4) } == [2])
            #expect(try await refusingVersions { try await world.updateNew(4) } == [1])
            #expect(try await refusingVersions { try await world.updateBoth(score: 4) } == nil)
            #expect(try await refusingVersions { try await world.end(score: 5) } == [2])
            #expect(try await world.number("SELECT max(revision) FROM changes") == 6)
        }
    }

    @Test("A device that does not say its app version counts as the oldest version")
    func unknown() async throws {
        try await withWorld { world in
            try await world.registerVersion()
            try await world.start()
            try await world.follow("d1", token: "aa01")
            #expect(try await refusingVersions { try await world.updateNew(1) } == [1])
            #expect(try await refusingVersions { try await world.updateOld(score: 1) } == nil)
        }
    }

    @Test("When the last card of a version is gone, it holds nothing back any more")
    func gone() async throws {
        try await withWorld { world in
            try await world.startForBoth(old: "1.4")
            #expect(try await refusingVersions { try await world.updateNew(2) } == [1])
            try await world.report("old", .ended)
            #expect(try await refusingVersions { try await world.updateNew(2) } == nil)
            _ = world.recorder.take()
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["aa02"])
            #expect(try await world.events(.incompatibleVersion).isEmpty)
        }
    }

    @Test("A start that waits for the start budget of its phone holds a state back that its app could not decode")
    func startBudget() async throws {
        try await withWorld(policy: { $0.startBudget.count = 1 }) { world in
            try await world.registerVersion()
            try await world.install("1.4", on: "old", token: "5a01")
            for id in ["other", "final"] {
                try await world.start(id, to: World.devices("old"))
                try await world.settle()
            }
            #expect(try await world.show().starts.reasons == ["start_budget": 1])
            #expect(try await refusingVersions { try await world.updateNew(2) } == [1])
        }
    }

    @Test("One follower among many phones of a version holds a state back until its card is gone")
    func lastOfMany() async throws {
        let settings = OrchestratorSettings { $0.stretchSize = 2 }
        try await withWorld(settings: settings) { world in
            try await world.startForBoth(old: "1.4")
            try await world.report("old", .ended)
            for number in 1...5 { try await world.install("1.4", on: "other\(number)") }
            try await world.install("1.4", on: "last")
            try await world.follow("last", token: "aa03")
            for _ in 1...2 { #expect(try await refusingVersions { try await world.updateNew(2) } == [1]) }
            // Somewhere else than where the follower was found before.
            try await world.follow("other1", token: "aa04")
            try await world.report("last", .ended)
            #expect(try await refusingVersions { try await world.updateNew(2) } == [1])
            try await world.report("other1", .ended)
            #expect(try await refusingVersions { try await world.updateNew(2) } == nil)
        }
    }

    @Test("A card counts though its token was rejected: a report may revive it")
    func rejected() async throws {
        try await withWorld { world in
            try await world.registerVersion()
            try await world.install("1.4", on: "old")
            try await world.start()
            try await world.follow("old", token: "aa01")
            world.recorder.answer("aa01", with: .badToken)
            try await world.updateBoth(score: 1)
            try await world.settle()
            #expect(try await world.subscription("old") == "rejected")
            #expect(try await refusingVersions { try await world.updateNew(2) } == [1])
        }
    }

    @Test(
        "A phone that is about to be started counts: its start waits, has left without an answer, or is to be tried anew",
        arguments: [PushOutcome.unavailable, .noAnswer, nil]
    )
    func aboutToStart(answer: PushOutcome?) async throws {
        try await withWorld { world in
            try await world.registerVersion()
            try await world.install("1.4", on: "old", token: "a1")
            world.recorder.answerAll(with: answer)
            if answer == nil {
                // The newest state is withheld from it, until this one that it decodes.
                try await world.start(to: World.devices("d1")) { $0.contentState["clock"] = "0" }
                try await world.updateNew(1)
                let request = AudienceRequest(add: World.devices("old"))
                _ = try await world.orchestrator.intake.changeAudience(world.app, ActivityID(stored: "final"), request)
                try await world.settle()
                #expect(try await world.startState("old") == "withheld")
                try await world.updateBoth(score: 2)
            } else {
                try await world.start(to: World.devices("old"))
                try await world.settle()
                #expect(try await world.startState("old") == (answer == .noAnswer ? "unknown" : "pending"))
            }
            #expect(try await refusingVersions { try await world.updateNew(3) } == [1])
        }
    }

    @Test("Nobody is forgotten while it is not known yet who the audience is")
    func notEnrolled() async throws {
        try await withWorld { world in
            try await world.registerVersion()
            try await world.install("1.4", on: "old", token: "a1")
            try await world.start(to: World.devices("old"))
            #expect(try await world.tables.starts().isEmpty)
            #expect(try await refusingVersions { try await world.updateNew(1) } == [1])
            try await world.start("later", to: World.devices("old")) { $0.startsAt = Instant("2100-01-01T00:00:00Z") }
            let update = UpdateRequest(contentState: ["score": 1, "clock": "1", "note": 1])
            let later = try await refusingVersions {
                _ = try await world.orchestrator.intake.update(
                    world.app,
                    ActivityID(stored: "later"),
                    update,
                    origin: nil
                )
            }
            #expect(later == [1])
        }
    }

    @Test("On a channel content must be decodable by every version that is not retired")
    func channel() async throws {
        try await withWorld { world in
            try await world.registerVersion()
            let refused = try await refusingVersions { try await world.start(delivery: .channel) }
            #expect(refused == [2])
            try await world.start(delivery: .channel) { $0.contentState["clock"] = "0" }
            #expect(try await refusingVersions { try await world.updateNew(1) } == [1])
            #expect(try await refusingVersions { try await world.updateOld(score: 1) } == [2])
            #expect(try await refusingVersions { try await world.updateBoth(score: 1) } == nil)
            try await world.retire(1)
            #expect(try await refusingVersions { try await world.updateNew(2) } == nil)
        }
    }

    @Test("A start must be decodable by all of its audience")
    func audience() async throws {
        try await withWorld { world in
            try await world.registerVersion()
            try await world.install("1.4", on: "old", token: "a1")
            try await world.install("2.1", on: "new", token: "a2")
            #expect(try await refusingVersions { try await world.start(to: World.devices("old", "new")) } == [2])
            #expect(try await refusingVersions { try await world.start(to: Audience(allOfType: true)) } == [2])
            #expect(try await refusingVersions { try await world.start("for-old", to: World.devices("old")) } == nil)
            // Before anybody is started.
            let update = UpdateRequest(contentState: ["score": 1, "clock": "1", "note": 1])
            #expect(
                try await refusingVersions {
                    let id = ActivityID(stored: "for-old")
                    _ = try await world.orchestrator.intake.update(world.app, id, update, origin: nil)
                } == [1]
            )
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["a1"])
        }
    }

    @Test("What is scheduled is judged when it is asked for, and again when it is due")
    func scheduled() async throws {
        try await withWorld { world in
            try await world.registerVersion()
            try await world.install("1.4", on: "old")
            try await world.start()
            let later: (inout UpdateRequest) -> Void = { request in
                request.contentState["clock"] = "90:00"
                request.contentState["note"] = 1
                request.at = Instant("2100-01-01T00:00:00Z")
            }
            var request = UpdateRequest(contentState: World.state(7))
            later(&request)
            let id = ActivityID(stored: "final")
            _ = try await world.orchestrator.intake.update(world.app, id, request, origin: nil)
            try await world.follow("old", token: "aa01")
            let again = request
            #expect(
                try await refusingVersions {
                    _ = try await world.orchestrator.intake.update(world.app, id, again, origin: nil)
                } == [1]
            )
            _ = try await world.database.execute("UPDATE schedules SET due_at = now()")
            let runner = ScheduleRunner(orchestrator: world.orchestrator)
            while try await runner.runDue() {}
            let failed = try await world.events(.scheduleFailed)
            #expect(failed.map(\.detail["reason"]) == ["invalid_content_state"])
            #expect(try await world.number("SELECT max(revision) FROM changes") == 1)
        }
    }

    @Test("Versions that want one thing in two forms are told apart, and the form that all take is sent")
    func forms() async throws {
        try await withWorld { world in
            func version(_ at: String) -> String { #"{"type":"object","properties":{"at":\#(at)}}"# }
            let date = #"{"type":"number","x-swift-type":"Date"}"#
            try await world.registerVersion(version(date), from: nil, force: true)
            try await world.registerVersion(version(#"{"type":"string"}"#), from: "2.0")
            try await world.install("1.4", on: "old")
            try await world.install("2.1", on: "new")
            try await world.start { $0.contentState = [:] }
            try await world.follow("old", token: "aa01")
            try await world.follow("new", token: "aa02")
            let text: JSONObject = ["at": "2026-11-21T18:00:00Z"]
            let refused = try await problem { try await world.update(score: 0) { $0.contentState = text } }
            #expect(refused?.errors.map(\.code) == ["conflicting_versions", "conflicting_versions"])
            #expect(refused?.errors.map(\.schemaVersion) == [2, 3])
            #expect(refused?.errors.map(\.pointer.description) == ["/at", "/at"])
            let number = try await refusingVersions { try await world.update(score: 0) { $0.contentState = ["at": 5] } }
            #expect(number == [3])
            // A version that takes any number takes the one that the text is made to.
            try await world.registerVersion(version(#"{"type":"number"}"#), from: "2.0", force: true)
            try await world.update(score: 0) { $0.contentState = text }
            #expect(
                try await world.word("SELECT content_state->>'at' FROM changes ORDER BY revision DESC LIMIT 1")
                    == "816976800"
            )
        }
    }
}

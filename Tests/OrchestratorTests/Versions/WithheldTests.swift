import APITypes
import ActivityModel
import Intake
import JSON
import OrchestratorTestSupport
import Postgres
import Record
import Registry
import ReportTypes
import TestSupport
import Testing

@testable import Orchestrator
@testable import Store

@Suite("What an app could not decode is withheld from it", .timeLimit(.minutes(2)))
struct WithheldTests {
    /// An activity that phones with the newer app follow, and whose newest state only they decode.
    private func startNew(in world: World) async throws {
        try await world.registerVersion()
        try await world.install("1.4", on: "old")
        try await world.install("2.1", on: "new")
        try await world.start()
        try await world.updateBoth(score: 1)
        try await world.follow("new", token: "aa02")
        try await world.settle()
        try await world.updateNew(2)
        try await world.settle()
        _ = world.recorder.take()
    }

    @Test("A device that comes late with an old app is withheld, and sent to from the first state that it can decode")
    func lateAndOld() async throws {
        try await withWorld { world in
            try await startNew(in: world)
            let answer = try await world.follow("old", token: "aa01")
            #expect(answer.state == .withheld)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            #expect(try await world.reason("old") == "incompatible_version")
            #expect(try await world.show().progress.withheld == 1)
            let event = try #require(try await world.events(.incompatibleVersion).first)
            #expect(event.detail["app_version"] == "1.4")
            #expect(event.detail["schema_version"] == 1)
            #expect(event.detail["revision"] == 3)
            // It holds nothing back.
            try await world.updateNew(3)
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["aa02"])
            try await world.updateBoth(score: 4, alert: "Messi")
            try await world.pass(5)
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.destination).sorted() == ["aa01", "aa02"])
            #expect(pushes.map(\.score) == [4, 4])
            #expect(pushes.map(\.alert) == ["Messi", "Messi"])
            #expect(try await world.subscription("old") == "riding")
            // And from now on it counts again.
            #expect(try await refusingVersions { try await world.updateNew(5) } == [1])
            #expect(try await world.events(.incompatibleVersion).count == 1)
        }
    }

    @Test("A card that is about to be sent to again counts, though no worker has brought it back yet")
    func comingBack() async throws {
        try await withWorld { world in
            try await startNew(in: world)
            try await world.follow("old", token: "aa01")
            try await world.settle()
            try await world.updateBoth(score: 3)
            #expect(try await refusingVersions { try await world.updateNew(4) } == [1])
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.take().filter { $0.destination == "aa01" }.map(\.score) == [3])
        }
    }

    @Test("A card that is reported while it comes back is told the alerts since then, and none of before")
    func reportedComingBack() async throws {
        for (before, since) in [(nil, "Messi"), ("Messi", nil)] as [(String?, String?)] {
            try await withWorld { world in
                try await startNew(in: world)
                try await world.follow("old", token: "aa01", known: 2)
                try await world.updateNew(3, alert: before)
                try await world.settle()
                try await world.updateBoth(score: 4, alert: since)
                try await world.updateBoth(score: 5)
                try await world.follow("old", token: "aa01")
                try await world.pass(5)
                try await world.settle()
                let pushes = world.recorder.pushes(to: "aa01")
                #expect(pushes.map(\.score) == [5])
                #expect(pushes.map(\.alert) == [since])
            }
        }
    }

    @Test("The story of a withheld device says why")
    func story() async throws {
        try await withWorld { world in
            try await startNew(in: world)
            try await world.follow("old", token: "aa01")
            let timeline = try await world.orchestrator.timeline(
                world.app,
                ActivityID(stored: "final"),
                device: DeviceID(stored: "old"),
                PageRequest()
            )
            #expect(timeline.verdict.code == "incompatible_version")
            #expect(timeline.verdict.text.contains("(version 1.4)"))
            let entry = try #require(timeline.page.items.first { $0.kind == "incompatible_version" })
            #expect(entry.text == "Revision 3 is withheld from apps of version 1.4: they could not decode it.")
        }
    }

    @Test("An app that was updated is sent the newest state; one that was set back no longer is")
    func otherApp() async throws {
        try await withWorld { world in
            try await startNew(in: world)
            try await world.follow("old", token: "aa01")
            try await world.settle()
            try await world.install("2.0", on: "old")
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["aa01"])
            #expect(try await world.subscription("old") == "riding")
            try await world.install("1.9", on: "new")
            #expect(try await world.subscription("new") == "withheld")
            try await world.updateNew(3)
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["aa01"])
        }
    }

    @Test("A token that was rejected before its card was withheld is not sent to afterwards, until the app reports it")
    func rejectedBefore() async throws {
        try await withWorld { world in
            try await startNew(in: world)
            world.recorder.answer("aa02", with: .badToken)
            try await world.updateNew(3)
            try await world.pass(5)
            try await world.settle()
            #expect(try await world.subscription("new") == "rejected")
            try await world.install("1.9", on: "new")
            #expect(try await world.subscription("new") == "withheld")
            _ = world.recorder.take()
            try await world.install("2.1", on: "new")
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            #expect(try await world.subscription("new") == "rejected")
            try await world.follow("new", token: "aa02")
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [3])
        }
    }

    @Test("A barrier that an app could not decode is not owed to it when it can decode what follows")
    func barrier() async throws {
        try await withWorld { world in
            try await startNew(in: world)
            try await world.follow("old", token: "aa01")
            try await world.updateNew(3, mustDeliver: true)
            try await world.updateBoth(score: 4)
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa01").map(\.score) == [4])
            #expect(world.recorder.pushes(to: "aa02").map(\.score) == [3, 4])
        }
    }

    @Test("Of a retired version the phones are taken off the ring before they would be sent what they cannot decode")
    func retired() async throws {
        try await withWorld { world in
            try await world.registerVersion()
            try await world.install("2.1", on: "new")
            try await world.start()
            try await world.updateBoth(score: 1)
            for number in 1...3 {
                try await world.install("1.\(number)", on: "old\(number)")
                try await world.follow("old\(number)", token: "aa0\(number)")
            }
            try await world.follow("new", token: "aa09")
            try await world.settle()
            #expect(try await refusingVersions { try await world.updateNew(2) } == [1])
            try await world.retire(1)
            _ = world.recorder.take()
            // Unread by a worker in between: what follows must not reach those who cannot decode the barrier.
            try await world.updateNew(2, mustDeliver: true)
            try await world.updateBoth(score: 3)
            try await world.pass(5)
            try await world.settle()
            for number in 1...3 { #expect(world.recorder.pushes(to: "aa0\(number)").map(\.score) == [3]) }
            #expect(world.recorder.pushes(to: "aa09").map(\.score) == [2, 3])
            try await world.updateNew(4)
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa09").map(\.score) == [2, 3, 4])
            #expect(world.recorder.pushes(to: "aa01").map(\.score) == [3])
            #expect(try await world.show().progress.withheld == 3)
            #expect(try await world.events(.incompatibleVersion).count == 6)
            try await world.retire(1, undo: true)
            #expect(try await refusingVersions { try await world.updateNew(5) } == nil)
        }
    }

    @Test("The newest version cannot be retired, and an unknown one is 404")
    func refusedRetirement() async throws {
        try await withWorld { world in
            try await world.registerVersion()
            #expect(try await problem { try await world.retire(2) }?.code == "newest_version")
            #expect(try await problem { try await world.retire(3) }?.status == 404)
            try await world.retire(1)
            let versions = try await world.orchestrator.typeVersions(world.app, World.game, PageRequest()).items
            #expect(versions.map { $0.retiredAt != nil } == [false, true])
        }
    }

    @Test("The audit log says of a version whether it was retired before and is now; the same again leaves no entry")
    func auditedRetirement() async throws {
        try await withWorld { world in
            try await world.registerVersion()
            try await Caller(keyID: Principal.bootstrapKeyID, requestID: "request-1").acting {
                try await world.retire(1)
                try await world.retire(1)
                try await world.retire(1, undo: true)
            }
            let entries = try await world.orchestrator.audit(AuditFilter(), PageRequest(), only: nil).items
            let changes = entries.reversed().map { [$0.before?["retired"], $0.after?["retired"]] }
            #expect(changes == [[false, true], [true, false]])
            #expect(entries.allSatisfy { $0.action == "type_changed" && $0.before?["version"] == 1 })
        }
    }

    @Test("A card that waits for its token is judged when it comes")
    func waiting() async throws {
        try await withWorld { world in
            try await world.registerVersion()
            try await world.install("1.4", on: "old", token: "a1")
            try await world.start(to: World.devices("old"))
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["a1"])
            #expect(try await refusingVersions { try await world.updateNew(1) } == [1])
            try await world.retire(1)
            try await world.updateNew(1)
            try await world.follow("old", token: "aa01")
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            #expect(try await world.subscription("old") == "withheld")
        }
    }

    @Test(
        "A start goes only to devices that decode its attributes and the newest state; the others wait for what they can"
    )
    func starts() async throws {
        try await withWorld(settings: OrchestratorSettings { $0.stretchSize = 1 }) { world in
            let attributes =
                #"{"type":"object","properties":{"home":{"type":"string"},"away":{"type":"string"}},"required":["home","away"]}"#
            try await world.registerVersion(attributes: attributes, from: "2.0")
            try await world.registerVersion(World.clockState, from: "3.0")
            try await world.start(to: World.devices("d1", "d2", "d3"))
            try await world.update(score: 1)
            try await world.install("1.0", on: "d1", token: "a1")
            try await world.install("2.0", on: "d2", token: "a2")
            try await world.install("3.0", on: "d3", token: "a3")
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["a1"])
            #expect(try await world.show().starts.reasons == ["incompatible_version": 2])
            try await world.updateBoth(score: 2)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["a3"])
            #expect(try await world.startState("d2") == "withheld")
            // The update made d2 a promise to nobody.
            #expect(try await world.show().starts.reasons == ["incompatible_version": 1])
        }
    }

    @Test("A start that is withheld for another reason is left alone when its version comes back")
    func otherReason() async throws {
        try await withWorld { world in
            try await startNew(in: world)
            try await world.install("1.4", on: "tablet", token: "a1", os: "17.1.2")
            let request = AudienceRequest(add: World.devices("tablet"))
            _ = try await world.orchestrator.intake.changeAudience(world.app, ActivityID(stored: "final"), request)
            try await world.follow("old", token: "aa01")
            try await world.settle()
            #expect(try await world.tables.starts().map(\.reason) == ["needs_ios_17_2"])
            try await world.updateBoth(score: 3)
            try await world.pass(5)
            let before = try await world.tables.starts().map(\.version)
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa01").map(\.score) == [3])
            #expect(try await world.tables.starts().map(\.version) == before)
        }
    }

    @Test("A phone is not started on a channel if the version that its app decodes is retired")
    func channelStart() async throws {
        try await withWorld { world in
            try await world.registerVersion()
            try await world.retire(1)
            try await world.install("1.0", on: "old", token: "a1")
            try await world.install("2.0", on: "new", token: "a2")
            try await world.start(to: World.devices("old", "new"), delivery: .channel) {
                $0.contentState["clock"] = "0"
            }
            try await world.settle()
            #expect(world.recorder.pushes(to: "a1").isEmpty)
            #expect(world.recorder.pushes(to: "a2").count == 1)
            #expect(try await world.startState("old") == "withheld")
        }
    }

    @Test(
        "An end reaches everybody: withheld cards get it without the state that they could not decode",
        arguments: [true, false]
    )
    func end(isGiven: Bool) async throws {
        try await withWorld { world in
            try await startNew(in: world)
            try await world.follow("old", token: "aa01")
            try await world.settle()
            let last: JSONObject = ["score": 9, "clock": "90:00", "note": 1]
            _ = try await world.orchestrator.intake.end(
                world.app,
                ActivityID(stored: "final"),
                EndRequest(contentState: isGiven ? last : nil),
                origin: nil
            )
            // One that reports only after the end.
            try await world.install("1.4", on: "late")
            try await world.pass(5)
            try await world.settle()
            try await world.follow("late", token: "aa03")
            try await world.pass(5)
            try await world.settle()
            try await world.settle()
            for token in ["aa01", "aa03"] {
                let pushes = world.recorder.pushes(to: token)
                #expect(pushes.map(\.event) == ["end"])
                #expect(pushes.first?.aps["content-state"] == nil)
                #expect(
                    pushes.first?.aps["dismissal-date"] == world.recorder.pushes(to: "aa02").last?.aps["dismissal-date"]
                )
            }
            #expect(world.recorder.pushes(to: "aa02").map(\.score) == [isGiven ? 9 : 2])
            #expect(try await world.subscription("old") == "riding")
            #expect(try await world.show().progress.withheld == 0)
            try await world.writeTimeline()
            let timeline = try await world.orchestrator.timeline(
                world.app,
                ActivityID(stored: "final"),
                device: DeviceID(stored: "old"),
                PageRequest()
            )
            #expect(
                timeline.page.items.contains {
                    $0.text.hasPrefix("The end, without the state that the app could not decode, was accepted by APNs")
                }
            )
        }
    }

    @Test("A withheld card that the backend ends is ended without the state that it could not decode")
    func leaving() async throws {
        try await withWorld { world in
            try await startNew(in: world)
            try await world.follow("old", token: "aa01")
            try await world.orchestrator.intake.unsubscribe(
                world.app,
                ActivityID(stored: "final"),
                DeviceID(stored: "old")
            )
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.destination) == ["aa01"])
            #expect(pushes.map(\.event) == ["end"])
            #expect(pushes.first?.aps["content-state"] == nil)
            #expect(try await world.tables.cards().allSatisfy { $0.token != "aa01" })
        }
    }
}

import APITypes
import ActivityModel
import Intake
import JSON
import OrchestratorTestSupport
import Postgres
import Testing

@testable import Orchestrator

@Suite("Cards that are served on their own", .timeLimit(.minutes(2)))
struct CatchUpTests {
    @Test("A late joiner gets the newest state at once and without an alert, and rides from then on")
    func lateJoiner() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.update(score: 1, alert: "Messi")
            try await world.settle()
            let answer = try await world.follow("d1", token: "aa01")
            #expect(answer.state == .due)
            #expect(answer.revision == 2)
            try await world.settle()
            let push = try #require(world.recorder.take().first)
            #expect(push.score == 1)
            #expect(push.alert == nil)
            #expect(try await world.subscription("d1") == "riding")
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            try await world.update(score: 2)
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [2])
        }
    }

    @Test("A phone that says it has more than there is gets the newest state, and the next", arguments: [false, true])
    func impossibleRevision(isKnown: Bool) async throws {
        try await withWorld { world in
            try await world.start()
            if isKnown {
                try await world.follow("d1", token: "aa01")
                try await world.settle()
                _ = world.recorder.take()
            }
            try await world.follow("d1", token: "aa01", known: 99)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [0])
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [1])
        }
    }

    @Test("Late joiners share a fresh stamp for 30 seconds, and then take another")
    func sharedStamp() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.update(score: 1)
            try await world.settle()
            var pushes: [Recorder.Push] = []
            for (number, wait) in [40, 20, 20].enumerated() {
                try await world.pass(Int64(wait))
                try await world.follow("d\(number)", token: "aa0\(number)")
                try await world.settle()
                pushes += world.recorder.take()
            }
            #expect(pushes.map(\.destination) == ["aa00", "aa01", "aa02"])
            #expect(pushes[0].timestamp == pushes[1].timestamp)
            #expect(pushes[2].timestamp > pushes[1].timestamp)
        }
    }

    @Test("A started card does not hear its start's alert again, though an update comes before its token is looked at")
    func startAlertOnce() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "a1")
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            #expect(world.recorder.take().map(\.alert) == ["Kick-off"])
            try await world.follow("d1", token: "aa01")
            try await world.update(score: 1)
            try await world.settle()
            let push = try #require(world.recorder.take().first)
            #expect(push.score == 1)
            #expect(push.alert == nil)
        }
    }

    @Test("A change that a late joiner was sent is not merged, though the ring jumps over it")
    func sentApart() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            try await world.update(score: 1)
            try await world.follow("d2", token: "aa02")
            let gate = world.recorder.close(for: "aa02")
            async let served: Void = world.settle()
            await gate.arrivals()
            try await world.update(score: 2)
            gate.open()
            try await served
            #expect(world.recorder.pushes(to: "aa02").map(\.score) == [1, 2])
            #expect(world.recorder.pushes(to: "aa01").map(\.score) == [0, 2])
            #expect(try await world.number("SELECT count(merged_into) FROM changes") == 0)
        }
    }

    @Test("What a card is known to show is not sent again", arguments: [(1, 1), (2, 0)])
    func known(revision: Revision, pushes: Int) async throws {
        try await withWorld { world in
            try await world.start()
            try await world.update(score: 1)
            try await world.settle()
            try await world.follow("d1", token: "aa01", known: revision)
            try await world.settle()
            #expect(world.recorder.take().count == pushes)
            #expect(try await world.subscription("d1") == "riding")
        }
    }

    @Test("A report while a batch is out misses nothing: neither that change nor the next")
    func reportDuringWalk() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.crowd(2)
            try await world.settle()
            try await world.update(score: 1)
            let gate = world.recorder.close()
            async let walk: Void = world.settle()
            await gate.arrivals()
            // Its key is behind those of the batch that is out; the ring must not pass it by, whatever its order.
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.update(score: 2)
            world.recorder.open()
            try await walk
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa01").last?.score == 2)
            #expect(world.recorder.pushes(to: World.crowdToken(1)).map(\.score) == [1, 2])
            #expect(try await world.show().progress.current == 3)
        }
    }

    @Test("A new token takes the place of the old one; an older generation changes nothing")
    func rotation() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1, generation: 1)
            try await world.settle()
            try await world.follow("d1", token: "aa02", generation: 2)
            try await world.follow("d1", token: "aa01", generation: 1)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["aa02"])
            // One without a generation leaves the stored one as it is.
            try await world.follow("d1", token: "aa03")
            try await world.follow("d1", token: "aa01", generation: 1)
            try await world.settle()
            _ = world.recorder.take()
            try await world.update(score: 2)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["aa03"])
        }
    }

    @Test("A token that is reported while the one before is sent to is sent the same")
    func rotationInFlight() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.update(score: 1)
            try await world.settle()
            try await world.follow("d1", token: "aa01")
            let gate = world.recorder.close()
            async let walk: Void = world.settle()
            await gate.arrivals()
            try await world.follow("d1", token: "bb01")
            world.recorder.open()
            try await walk
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa01").map(\.score) == [1])
            #expect(world.recorder.pushes(to: "bb01").map(\.score) == [1])
        }
    }

    @Test("The same token again is sent nothing")
    func sameToken() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            let answer = try await world.follow("d1", token: "aa01")
            #expect(answer.state == .riding)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test("A push that has to be repeated keeps its alert though a state without one came meanwhile, and tells it once")
    func owedAlert() async throws {
        try await withWorld { world in
            try await world.start()
            for number in 1...2 { try await world.follow("d\(number)", token: "aa0\(number)", known: 1) }
            try await world.settle()
            world.recorder.answer("aa01", with: .tooMany)
            try await world.update(score: 1, alert: "Messi")
            try await world.settle()
            #expect(try await world.subscription("d1") == "due")
            try await world.update(score: 2)
            try await world.pass(3)
            try await world.settle()
            try await world.update(score: 3)
            try await world.pass(3)
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa01").map(\.score) == [1, 2, 3])
            #expect(world.recorder.pushes(to: "aa01").map(\.alert) == ["Messi", "Messi", nil])
            #expect(world.recorder.pushes(to: "aa02").map(\.alert) == ["Messi", nil, nil])
        }
    }

    @Test("An alert that is owed from earlier gives way to a newer state beside which it has no room")
    func owedAlertWithoutRoom() async throws {
        try await withWorld { world in
            try await world.start(alert: nil)
            for number in 1...2 { try await world.follow("d\(number)", token: "aa0\(number)", known: 1) }
            try await world.settle()
            world.recorder.answer("aa01", with: .tooMany)
            try await world.update(score: 1, alert: String(repeating: "y", count: 200))
            try await world.settle()
            try await world.update(score: 2) { $0.contentState["note"] = .string(String(repeating: "x", count: 3900)) }
            try await world.pass(3)
            try await world.settle()
            let push = try #require(world.recorder.pushes(to: "aa01").last)
            #expect(push.score == 2)
            #expect(push.alert == nil)
            #expect(push.bytes.count <= 4096)
        }
    }

    @Test("A push that has to be repeated keeps its place before later must-deliver changes")
    func owedBarrier() async throws {
        try await withWorld { world in
            try await world.start()
            for number in 1...2 { try await world.follow("d\(number)", token: "aa0\(number)", known: 1) }
            try await world.settle()
            world.recorder.answer("aa01", with: .tooMany)
            try await world.update(score: 1, alert: "Messi", mustDeliver: true)
            try await world.settle()
            try await world.update(score: 2, alert: "Di Maria", mustDeliver: true)
            try await world.update(score: 3)
            for _ in 1...3 {
                try await world.pass(3)
                try await world.settle()
            }
            let pushes = world.recorder.pushes(to: "aa01").dropFirst()
            #expect(pushes.map(\.score) == [1, 2, 3])
            #expect(pushes.map(\.alert) == ["Messi", "Di Maria", nil])
            #expect(zip(pushes, pushes.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
            #expect(try await world.show().progress.current == 2)
        }
    }

    @Test("A token that is replaced before the walk reaches it keeps the alert that is owed to its card")
    func rotationKeepsAlert() async throws {
        try await withWorld { world in
            try await world.start()
            for number in 1...2 { try await world.follow("d\(number)", token: "aa0\(number)", known: 1) }
            try await world.settle()
            world.recorder.answerAll(with: .unavailable)
            try await world.update(score: 1, alert: "Messi")
            try await world.settle()
            // The walk has begun and reached nobody.
            try await world.follow("d1", token: "bb01")
            world.recorder.answerAll(with: nil)
            _ = world.recorder.take()
            try await world.pass(3)
            try await world.settle()
            #expect(world.recorder.pushes(to: "bb01").map(\.alert) == ["Messi"])
            // The walk is over and has reached everybody.
            try await world.follow("d2", token: "bb02")
            try await world.settle()
            #expect(world.recorder.pushes(to: "bb02").map(\.alert) == [nil])
        }
    }

    @Test("A card that the phone says is gone is sent nothing more")
    func ended() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1, generation: 1)
            try await world.settle()
            #expect(try await world.report("d1", .ended, generation: 0).state != .over)
            #expect(try await world.report("d1", .ended, generation: 1).state == .over)
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            #expect(try await world.show().progress.destinations == 0)
        }
    }

    @Test("An answer that comes after the card is gone does not bring it back")
    func endedInFlight() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            try await world.update(score: 1)
            world.recorder.answer("aa01", with: .unavailable)
            let gate = world.recorder.close()
            async let walk: Void = world.settle()
            await gate.arrivals()
            try await world.report("d1", .ended)
            world.recorder.open()
            try await walk
            #expect(try await world.subscription("d1") == "over")
        }
    }

    @Test("A subscription that is deleted ends its card on the phone and is forgotten; others go on as before")
    func leaving() async throws {
        try await withWorld { world in
            try await world.start()
            for number in 1...2 { try await world.follow("d\(number)", token: "aa0\(number)", known: 1) }
            try await world.settle()
            try await world.orchestrator.intake.unsubscribe(
                world.app,
                ActivityID(stored: "final"),
                DeviceID(stored: "d1")
            )
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.destination) == ["aa01"])
            #expect(pushes.map(\.event) == ["end"])
            #expect(pushes.first?.aps["dismissal-date"] != nil)
            #expect(try await world.subscription("d1") == nil)
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["aa02"])
            let refused = try await problem {
                try await world.orchestrator.intake.unsubscribe(
                    world.app,
                    ActivityID(stored: "final"),
                    DeviceID(stored: "d1")
                )
            }
            #expect(refused?.status == 404)
        }
    }

    @Test(
        "A subscription that is gone, or whose token must not be sent to, is forgotten at once when it is deleted",
        arguments: ["dead", "rejected", "withheld", "over"]
    )
    func leavingUnreached(state: String) async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            if state == "over" {
                try await world.report("d1", .ended)
            } else {
                world.recorder.answer("aa01", with: state == "dead" ? .unregistered(at: nil) : .badToken)
                try await world.update(score: 1)
                try await world.settle()
            }
            if state == "withheld" {
                // Its app could not decode what came after.
                try await world.database.execute("UPDATE subscriptions SET state = 'withheld'")
            }
            #expect(try await world.subscription("d1") == state)
            _ = world.recorder.take()
            try await world.orchestrator.intake.unsubscribe(
                world.app,
                ActivityID(stored: "final"),
                DeviceID(stored: "d1")
            )
            #expect(try await world.subscription("d1") == nil)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test("A card that is deleted before it has a token is ended when it has one")
    func leavingWhileWaiting() async throws {
        try await withWorld { world in
            try await world.register("d1", token: "5a01")
            try await world.start(to: World.devices("d1"))
            try await world.settle()
            #expect(try await world.subscription("d1") == "waiting_for_token")
            try await world.orchestrator.intake.unsubscribe(
                world.app,
                ActivityID(stored: "final"),
                DeviceID(stored: "d1")
            )
            try await world.settle()
            _ = world.recorder.take()
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            #expect(world.recorder.take().map(\.event) == ["end"])
            #expect(try await world.subscription("d1") == nil)
        }
    }

    @Test("A token that is reported before its scheduled activity begins waits, and is served then")
    func scheduled() async throws {
        try await withWorld { world in
            try await world.start { $0.startsAt = Instant(microseconds: 4_000_000_000_000_000) }
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            #expect(try await world.number("SELECT count(*) FROM segments WHERE due_at IS NOT NULL") == 0)
        }
    }

    @Test("When the end is committed while some wait for their answer, no update leaves for the others of the turn")
    func endMeanwhile() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            try await world.update(score: 1)
            try await world.settle()
            // The one is caught up, then the other assured: two lists in one turn.
            try await world.follow("d1", token: "aa02")
            try await world.follow("d2", token: "bb02")
            let gate = world.recorder.close(for: "bb02")
            async let sending: Void = world.settle()
            await gate.arrivals()
            #expect(world.recorder.pushes(to: "aa02").isEmpty)
            try await world.end(score: 9)
            gate.open()
            try await sending
            #expect(world.recorder.pushes(to: "bb02").map(\.event) == ["update", "end"])
            #expect(world.recorder.pushes(to: "aa02").map(\.event) == ["end"])
        }
    }

    @Test("An end that is accepted while the stamp is awaited lets no update out behind it")
    func endBeforeStamp() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.settle()
            try await world.follow("d1", token: "aa01")
            try await world.pass(40)
            try await world.settle(behind: { try await world.end(score: 9) })
            #expect(world.recorder.take().map(\.event) == ["end"])
        }
    }

    @Test("An update that is accepted meanwhile keeps nothing back: where they come fast nothing would ever leave")
    func updateBeforeStamp() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.settle()
            try await world.follow("d1", token: "aa01")
            try await world.pass(40)
            try await world.settle(behind: { try await world.update(score: 9) })
            let pushes = world.recorder.take()
            #expect(pushes.map(\.score) == [0, 9])
            #expect(pushes.map(\.timestamp) == Set(pushes.map(\.timestamp)).sorted())
        }
    }

    @Test("Twelve hours after the end nothing is tried any more")
    func pastActivity() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            world.recorder.answerAll(with: .unavailable)
            try await world.end()
            try await world.settle()
            for _ in 1...3 {
                try await world.pass(31)
                try await world.settle()
            }
            #expect(world.recorder.take().count == 4)
            try await world.pass(12 * 3600)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
            #expect(try await world.subscription("d1") == "over")
            #expect(try await world.number("SELECT count(*) FROM segments WHERE due_at IS NOT NULL") == 0)
        }
    }
}

import APNSTransport
import ActivityModel
import JSON
import OrchestratorTestSupport
import Postgres
import Record
import Store
import Testing

@testable import DeliveryStore

/// What is recorded of changes that were replaced before an update with them left.
@Suite("Merges", .timeLimit(.minutes(2)))
struct MergeTests {
    private static let away = PushOutcome(.retry, status: 503, reason: "ServiceUnavailable")
    private static let merged: Query = """
        SELECT string_agg(revision || ' into ' || merged_into, ', ' ORDER BY revision) FROM changes
        """

    @Test("What comes while the only phone's push has to be repeated is merged into what it is sent then")
    func duringRetry() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            world.recorder.answer("aa01", with: Self.away)
            try await world.update(score: 1)
            try await world.settle()
            try await world.database.execute("UPDATE subscriptions SET due_at = due_at + interval '1 hour'")
            for score in 2...4 {
                try await world.pass(5)
                try await world.update(score: Int64(score))
                try await world.settle()
            }
            #expect(try await world.word(Self.merged) == nil)
            try await world.hurry()
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa01").map(\.score) == [0, 1, 4])
            #expect(try await world.word(Self.merged) == "2 into 5, 3 into 5, 4 into 5")
            // And what follows is none of it, nor need anybody look at it again.
            #expect(try await world.number("SELECT count(unsent_after) FROM segments") == 0)
            try await world.pass(5)
            try await world.update(score: 5)
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa01").last?.score == 5)
            #expect(try await world.word(Self.merged) == "2 into 5, 3 into 5, 4 into 5")
            #expect(
                try await world.events(.changesMerged).map(\.detail)
                    == [["into": 5, "revisions": [2, 3, 4], "count": 3]]
            )
        }
    }

    @Test("A broadcast that Apple has refused for now is merged into the next; one without an answer is not")
    func failedBroadcast() async throws {
        for (answer, expected) in [(Self.away, "2 into 3"), (PushOutcome(.unknown), nil)] {
            try await withWorld { world in
                try await world.start(delivery: .channel)
                try await world.settle()
                world.recorder.answer("channel1", with: answer)
                try await world.update(score: 1)
                try await world.settle()
                try await world.update(score: 2)
                try await world.pass(30)
                try await world.settle()
                #expect(world.recorder.pushes(to: "channel1").map(\.score) == [1, 2])
                #expect(try await world.word(Self.merged) == expected)
                // Later walks need not look at them again.
                #expect(try await world.number("SELECT count(unsent_after) FROM segments WHERE segment = -1") == 0)
            }
        }
    }

    @Test("So is what nobody on a ring was reached by, small or not", arguments: [true, false], ["Messi", nil])
    func failedPass(isRefused: Bool, alert: String?) async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01")
            try await world.follow("d2", token: "aa02")
            try await world.settle()
            for token in ["aa01", "aa02"] {
                world.recorder.answer(token, with: isRefused ? Self.away : PushOutcome(.unknown))
            }
            try await world.update(score: 1, alert: alert)
            try await world.settle()
            try await world.update(score: 2)
            try await world.update(score: 3)
            try await world.pass(30)
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa01").map(\.score) == [0, 1, 3])
            #expect(try await world.word(Self.merged) == (isRefused ? "2 into 4, 3 into 4" : "3 into 4"))
            #expect(try await world.number("SELECT count(unsent_after) FROM segments") == 0)
        }
    }

    @Test("What the channel has jumped over is merged when the ring passes it without a push")
    func ringComesLast() async throws {
        try await withWorld { world in
            try await world.start(delivery: .hybrid)
            try await world.settle()
            try await world.update(score: 1)
            try await world.update(score: 2)
            // As if the ring had been at work when they were accepted.
            try await world.database.execute("UPDATE segments SET completed_revision = 1 WHERE segment = 0")
            try await world.database.execute("UPDATE segments SET due_at = NULL WHERE segment = 0")
            try await world.settle()
            #expect(world.recorder.pushes(to: "channel1").map(\.score) == [2])
            #expect(try await world.word(Self.merged) == nil)
            try await world.database.execute("UPDATE segments SET due_at = now() WHERE segment = 0")
            try await world.settle()
            #expect(try await world.word(Self.merged) == "2 into 3")
        }
    }

    @Test("What the ring has jumped over is merged when the channel does, once its broadcast is accepted")
    func channelFails() async throws {
        try await withWorld { world in
            try await world.start(delivery: .hybrid)
            try await world.settle()
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            try await world.update(score: 1)
            try await world.update(score: 2)
            try await world.database.execute("UPDATE segments SET due_at = NULL WHERE segment = -1")
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa01").last?.score == 2)
            #expect(try await world.word(Self.merged) == nil)
            world.recorder.answer("channel1", with: Self.away)
            try await world.database.execute("UPDATE segments SET due_at = now() WHERE segment = -1")
            try await world.settle()
            #expect(try await world.word(Self.merged) == nil)
            try await world.hurry()
            try await world.settle()
            #expect(try await world.word(Self.merged) == "2 into 3")
        }
    }

    @Test("A late joiner's push that does not leave is merged into the next one", arguments: [true, false])
    func failedCatchUp(isAway: Bool) async throws {
        try await withWorld { world in
            try await world.start()
            try await world.update(score: 1)
            try await world.settle()
            world.recorder.answer("aa01", with: PushOutcome(isAway ? .notSent : .unknown))
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            try await world.database.execute("UPDATE subscriptions SET due_at = due_at + interval '1 hour'")
            try await world.pass(5)
            try await world.update(score: 2)
            try await world.settle()
            world.recorder.answer("aa01", with: PushOutcome(isAway ? .notSent : .unknown))
            try await world.hurry()
            try await world.settle()
            try await world.database.execute("UPDATE subscriptions SET due_at = due_at + interval '1 hour'")
            try await world.pass(5)
            try await world.update(score: 3)
            try await world.settle()
            try await world.hurry()
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa01").map(\.score) == [1, 2, 3])
            #expect(try await world.word(Self.merged) == (isAway ? "3 into 4" : nil))
        }
    }

    @Test("Of several rings one that nobody rides looks at what it has passed once")
    func unriddenRing() async throws {
        try await withWorld { world in
            try await world.start(delivery: .hybrid)
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            for score in 1...4 {
                try await world.pass(5)
                try await world.update(score: Int64(score))
                if score == 1 {
                    // Its only card is about to be sent something by its own row, for an hour.
                    try await world.database.execute(
                        "UPDATE subscriptions SET state = 'due', due_at = now() + interval '1 hour'"
                    )
                }
                try await world.settle()
            }
            #expect(world.recorder.pushes(to: "channel1").map(\.score) == [1, 2, 3, 4])
            #expect(try await world.word(Self.merged) == nil)
            // As far as the channel had come when the ring came by.
            let passed: Query = "SELECT coalesce(unsent_after, 5) FROM segments WHERE segment = 0"
            #expect(try await world.number(passed) ?? 0 >= 4)
        }
    }

    @Test("What is sent though others have jumped over it counts as merged no more")
    func sentAfterAll() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            world.recorder.answer("aa01", with: Self.away)
            try await world.update(score: 1, mustDeliver: true)
            try await world.settle()
            try await world.database.execute("UPDATE subscriptions SET due_at = due_at + interval '1 hour'")
            try await world.follow("d2", token: "aa02", known: 2)
            try await world.update(score: 2)
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa02").map(\.score) == [2])
            #expect(try await world.word(Self.merged) == "2 into 3")
            try await world.hurry()
            try await world.settle()
            #expect(world.recorder.pushes(to: "aa01").map(\.score) == [0, 1, 1, 2])
            #expect(try await world.word(Self.merged) == nil)
        }
    }

    @Test("What is merged already is not merged again, whoever comes by")
    func again() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            for score in 1...2 { try await world.update(score: Int64(score)) }
            try await world.pass(5)
            try await world.settle()
            #expect(try await world.word(Self.merged) == "2 into 3")
            let key = try #require(try await world.number("SELECT activity_key FROM activities"))
            let lease = SegmentLease(activityKey: key, segment: SegmentRows.firstRing, owner: "")
            // As if a ring had stood before them all the time.
            _ = try await world.database.pipeline(ChangeStore.merge(under: lease, after: 1, before: 3, into: 3))
            #expect(try await world.events(.changesMerged).count == 1)
        }
    }

    @Test("Where nobody follows, nothing is merged into what the first who does is sent")
    func nobody() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.settle()
            for score in 1...3 {
                try await world.update(score: Int64(score))
                try await world.settle()
            }
            try await world.pass(5)
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [3])
            #expect(try await world.word(Self.merged) == nil)
        }
    }

    @Test("What passed while the only card was away is merged into what the card is sent when it is back")
    func revived() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01")
            try await world.settle()
            world.recorder.answer("aa01", with: PushOutcome(.tokenRejected, status: 400, reason: "BadDeviceToken"))
            for score in 1...3 {
                try await world.pass(5)
                try await world.update(score: Int64(score))
                try await world.settle()
            }
            #expect(try await world.word("SELECT state::text FROM subscriptions") == "rejected")
            // As after a halt, which shows that Apple was wrong.
            try await world.database.execute(
                "UPDATE subscriptions SET state = 'due', due_at = now(), failures = 0, reason = NULL"
            )
            try await world.update(score: 4)
            try await world.settle()
            #expect(world.recorder.take().map(\.score) == [0, 1, 4])
            #expect(try await world.word(Self.merged) == "2 into 5, 3 into 5, 4 into 5")
        }
    }
}

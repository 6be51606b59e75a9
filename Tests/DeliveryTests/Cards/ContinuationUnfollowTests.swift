import APITypes
import ActivityModel
import OrchestratorTestSupport
import Postgres
import Registry
import TestSupport
import Testing

@testable import Orchestrator

@Suite("Cards that a new card continues, of somebody who does not follow any more", .timeLimit(.minutes(2)))
struct ContinuationUnfollowTests {
    /// A little more than the age at which a card is handed over.
    private static let age: Int64 = 7_201

    /// Lends a world in which the start is due in 10 seconds that continues Ada's card.
    private func withCard(_ body: (World) async throws -> Void) async throws {
        try await withWorld(policy: {
            $0.continueAfterHours = 2
            $0.onUnfollow = .end
        }) { world in
            try await world.register("d1", token: "5a01", user: "ada")
            try await follow("ajax", in: world)
            try await world.start(to: Audience(topics: [Topic(stored: "ajax")]))
            try await world.settle()
            try await world.follow("d1", token: "aa01", known: 1, generation: 7, card: "A")
            try await world.settle()
            try await world.pass(Self.age)
            while try await world.watchCards() > 0 {}
            try await world.settle()
            _ = world.recorder.take()
            try await body(world)
        }
    }

    /// What Ada follows from now on.
    private func follow(_ topics: String..., in world: World) async throws {
        let request = TopicsRequest.whole(topics.map { Topic(stored: $0) })
        _ = try await world.orchestrator.putTopics(world.app, of: .user(UserID(stored: "ada")), request)
    }

    /// Works until nothing is due, and says where pushes of a kind went to since the last call.
    private func sent(_ event: String, in world: World) async throws -> [String] {
        try await world.settle()
        return world.recorder.take().filter { $0.event == event }.map(\.destination)
    }

    /// As if a daemon had claimed the start, and died before it stored what came of it.
    private func dieWithStart(_ world: World) async throws {
        try await world.database.execute(
            """
            UPDATE starts SET state = 'claimed', attempts = 1, claimed_at = now(), revision = 1,
                due_at = now() + interval '120 seconds'
            """
        )
    }

    @Test(
        "The card ends, though its app reports it before that, while the start that continues it waits or has left",
        arguments: [false, true]
    )
    func reportedAgain(isOnItsWay: Bool) async throws {
        try await withCard { world in
            if isOnItsWay { try await dieWithStart(world) }
            world.recorder.answer("aa01", with: .tooMany)
            try await follow(in: world)
            #expect(try await sent("end", in: world) == ["aa01"])
            try await world.follow("d1", token: "aa02", known: 1, generation: 8, card: "A")
            try await world.pass(31)
            #expect(try await sent("end", in: world) == ["aa02"])
            #expect(try await world.subscription("d1") == nil)
            guard !isOnItsWay else { return }
            try await follow("ajax", in: world)
            #expect(try await sent("start", in: world) == ["5a01"])
        }
    }

    @Test(
        "Who follows again after the new card's start keeps that card, or gets another one if it was reported and has ended",
        arguments: [false, true]
    )
    func backAfterStart(isReported: Bool) async throws {
        try await withCard { world in
            try await world.pass(11)
            let gate = world.recorder.close()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await world.settle() }
                await gate.arrivals()
                try await follow(in: world)
                world.recorder.open()
                try await group.waitForAll()
            }
            #expect(try await sent("start", in: world) == ["5a01"])
            if !isReported { try await follow("ajax", in: world) }
            try await world.follow("d1", token: "bb01", known: 1, generation: 8, card: "B")
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.destination) == (isReported ? ["bb01"] : []))
            guard isReported else {
                #expect(try await world.tables.card(of: "d1")?.token == "bb01")
                return
            }
            #expect(pushes.first?.event == "end")
            try await follow("ajax", in: world)
            #expect(try await sent("start", in: world) == ["5a01"])
        }
    }

    @Test("Who follows again gets a new card after one that its app reported before its start was answered")
    func reportedBeforeTheAnswer() async throws {
        try await withCard { world in
            try await dieWithStart(world)
            try await follow(in: world)
            try await world.follow("d1", token: "bb01", known: 1, generation: 8, card: "B")
            #expect(try await sent("end", in: world) == ["bb01"])
            try await follow("ajax", in: world)
            #expect(try await sent("start", in: world) == ["5a01"])
        }
    }
}

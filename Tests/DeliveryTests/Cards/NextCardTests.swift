import APITypes
import ActivityModel
import OrchestratorTestSupport
import Testing

@Suite("Cards of one activity that follow each other on a phone", .timeLimit(.minutes(2)))
struct NextCardTests {
    /// How the app numbers its reports: over all cards of the activity, or each card from 1.
    enum Numbering: CaseIterable {
        case perActivity, perCard

        func generation(_ number: Int64, ofNext: Bool) -> Int64 { ofNext && self == .perActivity ? number + 3 : number }
    }

    @Test("A card after one that is gone is served, however the app numbers its reports", arguments: Numbering.allCases)
    func next(numbering: Numbering) async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1, generation: 1, card: "A")
            try await world.follow("d1", token: "aa02", known: 1, generation: 2, card: "A")
            try await world.report("d1", .ended, generation: 3, card: "A")
            let generation = numbering.generation(1, ofNext: true)
            try await world.follow("d1", token: "bb01", known: 1, generation: generation, card: "B")
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["bb01"])
            try await world.follow("d1", token: "bb02", generation: numbering.generation(2, ofNext: true), card: "B")
            try await world.update(score: 2)
            try await world.pass(5)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["bb02"])
        }
    }

    @Test("A new installation counts anew; late reports of the one before do not take over again, and are told so")
    func installations() async throws {
        try await withWorld { world in
            try await world.start()
            func follow(_ token: String, _ generation: Int64, _ installation: String?) async throws -> StaleReport? {
                try await world.follow(
                    "d1",
                    token: token,
                    known: 1,
                    generation: generation,
                    installation: installation
                ).stale
            }
            #expect(try await follow("aa01", 57, nil) == nil)
            #expect(try await follow("aa02", 1, "first") == nil)
            #expect(try await follow("bb01", 1, "second") == nil)
            #expect(try await follow("aa03", 99, "first") == .installation)
            #expect(try await follow("aa04", 99, nil) == .installation)
            #expect(try await follow("bb02", 0, "second") == .generation)
            // That the card of the former installation is gone says nothing of this one.
            let gone = try await world.report("d1", .ended, generation: 100, installation: "first")
            #expect(gone.stale == .installation)
            #expect(gone.state != .over)
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["bb01"])
        }
    }

    @Test("So is one after a card whose token has died, and one after a card that never had a token")
    func withoutToken() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1, generation: 5, card: "A")
            try await world.settle()
            world.recorder.answer("aa01", with: .unregistered(at: nil))
            try await world.update(score: 1)
            try await world.settle()
            #expect(try await world.subscription("d1") == "dead")
            #expect(try await world.follow("d1", token: "bb01", known: 2, generation: 1, card: "B").state != .dead)
            try await world.report("d2", .ended, generation: 2, card: "A")
            #expect(try await world.follow("d2", token: "cc01", known: 2, generation: 1, card: "B").state != .over)
            _ = world.recorder.take()
            try await world.update(score: 2)
            try await world.settle()
            #expect(Set(world.recorder.take().map(\.destination)) == ["bb01", "cc01"])
        }
    }

    @Test("A report of the same card that comes late brings nothing back")
    func late() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.report("d1", .ended, generation: 2, card: "A")
            #expect(try await world.follow("d1", token: "aa01", known: 1, generation: 1, card: "A").state == .over)
            #expect(try await world.follow("d2", token: "aa02", known: 1, generation: 2, card: "B").state != .over)
            #expect(try await world.follow("d2", token: "aa03", known: 1, generation: 1, card: "A").state != .over)
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["aa02"])
        }
    }

    @Test("A late report of another card brings nothing back either, if the app names its installation")
    func lateWithInstallation() async throws {
        try await withWorld { world in
            try await world.start()
            func follow(_ token: String, _ generation: Int64, _ card: String) async throws -> StaleReport? {
                try await world.follow(
                    "d1",
                    token: token,
                    known: 1,
                    generation: generation,
                    card: card,
                    installation: "first"
                ).stale
            }
            #expect(try await follow("bb01", 3, "B") == nil)
            try await world.report("d1", .ended, generation: 4, card: "B", installation: "first")
            #expect(try await follow("aa01", 1, "A") == .generation)
            #expect(try await world.subscription("d1") == "over")
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().isEmpty)
        }
    }

    @Test("That one card is gone says nothing of another that the phone shows", arguments: [3, nil] as [Int64?])
    func lingering(generation: Int64?) async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1, generation: 1, card: "A")
            try await world.follow("d1", token: "bb01", known: 1, generation: 2, card: "B")
            #expect(try await world.report("d1", .ended, generation: generation, card: "A").state != .over)
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["bb01"])
            #expect(try await world.report("d1", .ended, generation: generation, card: "B").state == .over)
        }
    }

    @Test("The card that survives a duplicate is served as soon as its app reports it again")
    func survivor() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("d1", token: "aa01", known: 1, generation: 1, card: "A")
            try await world.follow("d1", token: "bb01", known: 1, generation: 2, card: "B")
            #expect(try await world.report("d1", .ended, generation: 3, card: "B").state == .over)
            try await world.follow("d1", token: "aa01", generation: 4, card: "A")
            try await world.update(score: 1)
            try await world.settle()
            #expect(world.recorder.take().map(\.destination) == ["aa01"])
        }
    }
}

import ActivityModel
import Testing

@testable import Orchestrator

@Suite("Alerts, when a card is reported again", .timeLimit(.minutes(2)))
struct ReportedAlertTests {
    @Test("A card whose token was rejected is told what it has not heard when its app reports it again")
    func rejected() async throws {
        for token in ["aa01", "aa02"] {
            try await withWorld { world in
                try await world.start()
                try await world.follow("phone", token: "aa01", known: 1)
                try await world.settle()
                world.recorder.answer("aa01", with: .badToken)
                try await world.update(score: 1, alert: "Messi")
                try await world.settle()
                try await world.update(score: 2, alert: "Di María", mustDeliver: true)
                try await world.update(score: 3)
                try await world.settle()
                #expect(try await world.subscription("phone") == "rejected")
                _ = world.recorder.take()
                // Stamps are not to run ahead of the clock.
                try await world.pass(5)
                try await world.follow("phone", token: token)
                try await world.settle()
                let pushes = world.recorder.take()
                #expect(pushes.map(\.destination) == [token, token])
                #expect(pushes.map(\.score) == [2, 3])
                #expect(pushes.map(\.alert) == ["Di María", nil])
            }
        }
    }

    @Test("An alert that met a dead token is told by the next token of the same card, and by that of no other")
    func dead() async throws {
        for (card, alert) in [("card1", "Messi"), ("card2", nil), (nil, nil)] as [(String?, String?)] {
            try await withWorld { world in
                try await world.start()
                try await world.follow("phone", token: "aa01", known: 1, card: "card1")
                try await world.settle()
                world.recorder.answer("aa01", with: .unregistered(at: nil))
                try await world.update(score: 1, alert: "Messi")
                try await world.settle()
                #expect(try await world.subscription("phone") == "dead")
                try await world.update(score: 2)
                try await world.settle()
                _ = world.recorder.take()
                try await world.follow("phone", token: "aa02", card: card)
                try await world.settle()
                let pushes = world.recorder.take()
                #expect(pushes.map(\.score) == [2])
                #expect(pushes.map(\.alert) == [alert], "\(card ?? "no id")")
            }
        }
    }

    @Test("A card that shows a state has heard what that has told, though the answer to its push was lost")
    func shown() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("phone", token: "aa01", known: 1)
            try await world.settle()
            world.recorder.answer("aa01", with: .noAnswer)
            try await world.update(score: 1, alert: "Messi")
            try await world.settle()
            #expect(try await world.subscription("phone") == "due")
            _ = world.recorder.take()
            try await world.update(score: 2)
            try await world.follow("phone", token: "aa01", known: 2)
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.score) == [2])
            #expect(pushes.map(\.alert) == [nil])
        }
    }
}

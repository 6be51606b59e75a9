import ActivityModel
import OrchestratorTestSupport
import Postgres
import Testing

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
            try await world.pass(60)
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.score) == [2])
            #expect(pushes.map(\.alert) == [nil])
        }
    }

    @Test("A dead token that is reported again is sent the same bytes again, with the alert")
    func deadAgain() async throws {
        try await withWorld { world in
            try await world.start()
            try await world.follow("phone", token: "aa01", known: 1)
            try await world.settle()
            world.recorder.answer("aa01", with: .unregistered(at: nil))
            try await world.update(score: 1, alert: "Messi")
            try await world.settle()
            #expect(try await world.subscription("phone") == "dead")
            try await world.follow("phone", token: "aa01")
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.alert) == ["Messi", "Messi"])
            #expect(Set(pushes.map(\.bytes)).count == 1)
        }
    }

    @Test(
        "A card that was sent the alert and says it shows an older state is sent the newest under another stamp",
        arguments: [false, true]
    )
    func older(isOnRing: Bool) async throws {
        try await withWorld { world in
            try await world.start()
            if isOnRing { try await world.follow("phone", token: "aa01", known: 1) }
            try await world.settle()
            try await world.update(score: 1, alert: "Messi")
            if !isOnRing { try await world.follow("phone", token: "aa01", known: 1) }
            try await world.settle()
            for _ in 1...2 {
                try await world.follow("phone", token: "aa01", known: 1)
                try await world.settle()
            }
            #expect(try await world.subscription("phone") == "riding")
            let pushes = world.recorder.take()
            #expect(pushes.map(\.score) == [1, 1, 1])
            #expect(pushes.map(\.alert) == ["Messi", nil, nil])
            try #require(pushes.count == 3)
            #expect(pushes[0].timestamp < pushes[1].timestamp)
            #expect(pushes[1].bytes == pushes[2].bytes)
        }
    }

    @Test("Such a card does not take the stamp from a walk that tells the alert")
    func olderBesideWalk() async throws {
        try await withWorld { world in
            try await world.start()
            for number in 1...2 { try await world.follow("d\(number)", token: "aa0\(number)", known: 1) }
            try await world.settle()
            try await world.update(score: 1, alert: "Messi")
            try await world.settle()
            let told = try #require(world.recorder.take().first)
            // As if the walk had come by the first card only.
            try await world.database.execute(
                """
                UPDATE segments SET completed_revision = 1, lap_revision = 2, lap_origin = 0, alert_revision = 2,
                    alert_origin = 0, cursor = (SELECT min(device_key) FROM subscriptions)
                WHERE segment = 0
                """
            )
            try await world.follow("d1", token: "aa01", known: 1)
            try await world.settle()
            let pushes = world.recorder.take()
            #expect(pushes.map(\.destination) == ["aa02", "aa01"])
            #expect(pushes.map(\.alert) == ["Messi", nil])
            #expect(pushes.first?.timestamp == told.timestamp)
            #expect(try #require(pushes.last).timestamp > told.timestamp)
        }
    }
}

import Foundation
import TallyKit
import Testing

/// What ten of 10,000 lives of apps found, each as one short story.
@Suite("What rare lives of apps found")
struct RareLivesTests {
    /// Anna has signed out and Ben has signed in, and Tally knows neither.
    private func betweenUsers() -> Life {
        var life = Life.settled()
        life.handle(.signedIn("anna"))
        life.answerAll()
        life.ticketLife = nil
        life.handle(.signedOut)
        life.handle(.signedIn("ben"))
        // So that the next report needs no reading on its own account.
        life.handle(.foreground)
        life.sent = []
        return life
    }

    private func card(_ id: String, of activity: String = "final") -> SeenCard {
        SeenCard(id: id, activity: activity, type: "GameAttributes", updateToken: "bb01")
    }

    @Test("a card that came just before Tally hears of the next user is for the user before, though no stream told it")
    func readBeforeUser() {
        var life = betweenUsers()
        life.reading.cards = [card("card-1")]
        life.ticketLife = 7200
        life.pass(1)
        #expect(life.sent.contains { $0.subject == .phone })
        life.handle(.foreground)
        #expect(life.endedCards == ["card-1"])
    }

    @Test("Tally hears of the next user after the second reading of a launch, since the first may come too early")
    func secondReadingBeforeUser() {
        var life = betweenUsers()
        life.relaunch()
        life.handle(.signedIn("ben"))
        life.ticketLife = 7200
        life.pass(1.5)
        life.reading.cards = [card("card-1")]
        life.pass(3)
        #expect(life.sent.contains { $0.subject == .phone })
        #expect(life.endedCards == ["card-1"])
    }

    @Test("if the app dies before the report of the next user leaves, Tally has not heard of that user")
    func diedBeforeUser() {
        var savedBefore = 0
        for actions in 0..<12 {
            var life = betweenUsers()
            life.ticketLife = 7200
            life.diesAfter = actions
            let generation = life.machine.memory.generation
            life.pass(1)
            guard life.sent.isEmpty else { continue }
            if life.stored?.generation != generation { savedBefore += 1 }
            life.ticketLife = nil
            life.relaunch()
            life.handle(.signedIn("ben"))
            life.appear("card-1")
            #expect(life.endedCards == ["card-1"], "after \(actions) actions")
        }
        #expect(savedBefore > 0)
    }

    /// A second card of an activity came. The process has stored that it ends it, and died before iOS did.
    private func duplicate() throws -> Life {
        for actions in 0..<12 {
            var life = Life.settled()
            life.appear("card-1")
            life.answerAll()
            life.diesAfter = actions
            life.reading.cards.append(card("card-2"))
            life.handle(.card(card("card-2")))
            if life.stored?.cards["card-2"]?.endedByApp == .duplicate, life.endedCards.isEmpty { return life }
        }
        throw CancellationError()
    }

    @Test("a duplicate that outlived its process takes the place of an elder card that has ended since")
    func elderEnded() throws {
        var life = try duplicate()
        life.reading.cards[0].state = .ended
        life.relaunch()
        life.pass(3)
        life.answerAll()
        #expect(life.endedCards.isEmpty)
        #expect(life.reported() == .token("bb01"))
    }

    @Test(
        "a duplicate that outlived its process ends if the elder card is there, or was dismissed, or if the user has left"
    )
    func elderStays() throws {
        var life = try duplicate()
        life.relaunch()
        #expect(life.endedCards == ["card-2"])

        life = try duplicate()
        life.reading.cards.removeFirst()
        life.relaunch()
        #expect(life.endedCards.isEmpty)
        life.pass(3)
        #expect(life.endedCards == ["card-2"])

        life = try duplicate()
        let cards = life.reading.cards
        life.reading.cards = []
        life.relaunch()
        life.handle(.signedOut)
        #expect(life.endedCards == ["card-1"])
        life.reading.cards = [cards[1]]
        life.pass(3)
        #expect(life.endedCards == ["card-1", "card-2"])
    }

    /// A card has just gone, and nobody saw how.
    private func goneUnseen() -> Life {
        var life = Life.settled()
        life.appear("card-1")
        life.answerAll()
        life.reading.cards = []
        life.handle(.foreground)
        life.pass(2)
        #expect(life.endings.map(\.cause) == [.unknown])
        life.answerAll()
        return life
    }

    @Test("a card that the app finds after a long sleep may be the repeat of one that went unseen, so it does not stay")
    func repeatDuringSleep() {
        var life = goneUnseen()
        life.now += 3600
        life.appear("card-2")
        #expect(life.endedCards == ["card-2"])
    }

    @Test("a clock that is set back does not shorten the time in which repeats come")
    func repeatWithClockSetBack() {
        var life = goneUnseen()
        life.now -= 86_400
        life.handle(.foreground)
        life.appear("card-2")
        #expect(life.endedCards == ["card-2"])
    }

    @Test("while a report has no answer, what Tally confirmed before is not sure, and is reported again")
    func unsure() {
        var life = Life.settled()
        life.appear("card-1")
        life.answerAll()
        let cards = life.reading.cards
        life.reading.cards = []
        life.handle(.foreground)
        life.pass(2)
        life.answerAll()
        life.reading.cards = cards
        life.handle(.foreground)
        #expect(life.reported() == .token("aa01"))
        life.reading.cards = []
        life.sent = []
        life.relaunch()
        life.pass(3)
        #expect(life.reported() == .gone)
    }

    @Test("a clock that is set forward just after a launch does not bring the second reading early")
    func clockSetForward() {
        var life = Life.settled()
        life.appear("card-1")
        life.answerAll()
        life.reading.cards = []
        life.relaunch()
        life.now += 500_000
        life.handle(.foreground)
        #expect(life.endings.isEmpty)
    }
}

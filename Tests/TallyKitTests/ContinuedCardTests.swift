import TallyKit
import Testing

/// Tally hands an activity that is longer than the life of a card over to a new card.
@Suite("Cards that a new card continues")
struct ContinuedCardTests {
    /// Tally has known a card for hours.
    private func longLife() -> Life {
        var life = Life.settled()
        life.ticketLife = 100_000
        life.appear("card-1", token: "aa")
        life.answerAll()
        life.pass(4 * 3600)
        life.answerAll()
        return life
    }

    private let card2 = SeenCard(id: "card-2", activity: "final", type: "GameAttributes", updateToken: "bb")

    /// The app is suspended for hours, in which its card goes.
    private func sleep(_ life: inout Life) {
        life.reading.cards = []
        life.now += 4 * 3600
    }

    @Test("the card that a push starts hours later stays, and the elder one is ended")
    func continued() {
        var life = longLife()
        life.appear("card-2", token: "bb")
        life.answerAll()
        #expect(life.endedCards == ["card-1"])
        #expect(life.reported() == .token("bb"))
        #expect(life.endings.map(\.card) == ["card-1"])
    }

    @Test("the repeat of the start of the new card is ended, as ever")
    func repeated() {
        var life = longLife()
        life.appear("card-2", token: "bb")
        life.answerAll()
        life.pass(120)
        life.appear("card-3", token: "cc")
        life.answerAll()
        #expect(life.endedCards == ["card-1", "card-3"])
        #expect(life.reported() == .token("bb"))
    }

    @Test("if Tally has ended the elder card before the app wakes, the new one stays all the same")
    func endedMeanwhile() {
        var life = longLife()
        life.reading.cards = [card2]
        life.relaunch()
        life.pass(3)
        life.answerAll()
        #expect(life.endedCards.isEmpty)
        #expect(life.reported() == .token("bb"))
    }

    @Test("a card that was continued unseen keeps none of the cards out that follow")
    func continuedTwice() {
        var life = longLife()
        life.reading.cards = [card2]
        life.relaunch()
        life.pass(3)
        life.answerAll()
        sleep(&life)
        life.appear("card-3", token: "cc")
        life.pass(3)
        life.answerAll()
        #expect(life.endedCards.isEmpty)
        #expect(life.reported() == .token("cc"))
    }

    @Test("a card is continued although the app got no answer to its report")
    func lostAnswer() {
        var life = Life.settled()
        life.ticketLife = 100_000
        life.appear("card-1", token: "aa")
        life.onTheWay = []
        sleep(&life)
        life.appear("card-2", token: "bb")
        life.pass(3)
        life.answerAll()
        #expect(life.endedCards.isEmpty)
        #expect(life.reported() == .token("bb"))
    }

    @Test("a card that went unseen looks older than it can be: what comes soon after is a repeat of its start")
    func clockSetForward() {
        var life = Life.settled()
        life.ticketLife = 1_000_000
        life.appear("card-1", token: "aa")
        life.answerAll()
        life.reading.cards = []
        life.now += 5 * 86_400
        life.relaunch()
        life.pass(3)
        life.answerAll()
        life.appear("card-2", token: "bb")
        life.answerAll()
        #expect(life.endedCards == ["card-2"])
    }

    @Test("after the user has swiped the elder card away, no push brings the activity back")
    func swipedAway() {
        var life = longLife()
        life.turn("card-1", .dismissed)
        life.answerAll()
        life.appear("card-2", token: "bb")
        life.answerAll()
        #expect(life.endedCards == ["card-2"])
        #expect(life.reported() == .gone)
    }
}

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
        life.reading.cards = [SeenCard(id: "card-2", activity: "final", type: "GameAttributes", updateToken: "bb")]
        life.relaunch()
        life.pass(3)
        life.answerAll()
        #expect(life.endedCards.isEmpty)
        #expect(life.reported() == .token("bb"))
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

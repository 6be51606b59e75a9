import TallyKit
import Testing

/// The life of cards: which one is reported, which one ends, and who ended it.
@Suite("Cards")
struct CardTests {
    struct Ending: Sendable {
        let name: String
        let life: @Sendable (inout Life) -> Void
        let cause: CardEnding.Cause
    }

    static let endings = [
        Ending(name: "swiped away", life: { $0.turn("card-1", .dismissed) }, cause: .user),
        Ending(
            name: "swiped away when stale",
            life: {
                $0.turn("card-1", .stale); $0.turn("card-1", .dismissed)
            },
            cause: .user
        ),
        Ending(name: "ended by a push", life: { $0.turn("card-1", .ended) }, cause: .system),
        Ending(
            name: "ended by a push, then gone",
            life: {
                $0.turn("card-1", .ended); $0.turn("card-1", .dismissed)
            },
            cause: .system
        ),
        Ending(
            name: "gone after eight hours",
            life: {
                $0.pass(8 * 3600); $0.turn("card-1", .dismissed)
            },
            cause: .unknown
        ),
        Ending(
            name: "ended by the app",
            life: {
                $0.handle(.ending($0.reading.cards[0])); $0.turn("card-1", .dismissed)
            },
            cause: .app
        ),
        Ending(
            name: "gone after the clock was set back",
            life: {
                $0.now -= 7200; $0.turn("card-1", .dismissed)
            },
            cause: .unknown
        ),
        Ending(
            name: "gone while the app did not run",
            life: {
                $0.reading.cards = []; $0.relaunch(); $0.pass(3)
            },
            cause: .unknown
        ),
        Ending(name: "signed out", life: { $0.handle(.signedOut) }, cause: .app),
    ]

    @Test("who ended a card is told once, and Tally hears that it is gone", arguments: endings.indices)
    func ending(index: Int) {
        let ending = Self.endings[index]
        var life = Life.settled()
        life.appear("card-1")
        life.answerAll()
        ending.life(&life)
        life.answerAll()
        #expect(life.endings.map(\.cause) == [ending.cause], "\(ending.name)")
        #expect(life.reported() == .gone, "\(ending.name)")
    }

    @Test("a card that is over never registers, whatever a late stream says")
    func overStaysOver() {
        var life = Life.settled()
        life.appear("card-1")
        life.answerAll()
        life.turn("card-1", .ended)
        life.answerAll()
        life.handle(.card(SeenCard(id: "card-1", activity: "final", type: "GameAttributes", updateToken: "bb")))
        life.relaunch()
        life.pass(3)
        life.answerAll()
        #expect(life.reported() == .gone)
    }

    @Test("a card that was over before the app saw it is not reported", arguments: [CardState.ended, .dismissed])
    func overBeforeSeen(state: CardState) {
        var life = Life.settled()
        life.handle(
            .card(SeenCard(id: "card-1", activity: "final", type: "GameAttributes", state: state, updateToken: "aa"))
        )
        #expect(life.sent.isEmpty)
        #expect(life.endings.isEmpty)
    }

    @Test("an ended card does not stand in for a new one of its activity")
    func newCardAfterEnd() {
        var life = Life.settled()
        life.appear("card-1")
        life.turn("card-1", .ended)
        life.appear("card-2", token: "bb")
        life.answerAll()
        #expect(life.reported() == .token("bb"))
        #expect(life.endedCards.isEmpty)
        // The old one leaves the screen.
        life.turn("card-1", .dismissed)
        life.answerAll()
        #expect(life.reported() == .token("bb"))
    }

    @Test("the second card of a repeated start is ended, and the elder one is Tally's")
    func secondCard() {
        var life = Life.settled()
        life.appear("card-1", token: "aa")
        life.appear("card-2", token: "bb")
        life.answerAll()
        #expect(life.endedCards == ["card-2"])
        #expect(life.reported() == .token("aa"))
        life.turn("card-1", .ended)
        #expect(life.onTheWay.map(\.news) == [.card(CardNews(card: "card-1", reach: .gone))])
    }

    @Test("a card that the user swiped away does not come back by a push, but the app may start it again")
    func swipedAway() {
        var life = Life.settled()
        life.appear("card-1")
        life.answerAll()
        life.turn("card-1", .dismissed)
        life.answerAll()
        life.appear("card-2", token: "bb")
        #expect(life.endedCards == ["card-2"])
        life.answerAll()
        #expect(life.reported() == .gone)
        life.handle(.starting(activity: "final", AppStart(revision: 7)))
        life.appear("card-3", token: "cc")
        life.answerAll()
        #expect(life.endedCards == ["card-2"])
        #expect(life.reported() == .token("cc"))
    }

    @Test("Tally is told the end of the card that it knows, not of a later one that the app ended at once")
    func endOfTheKnownCard() {
        var life = Life.settled()
        life.appear("card-1")
        life.answerAll()
        life.turn("card-1", .dismissed)
        life.answer(Answer(status: 503))
        life.appear("card-2", token: "bb")
        #expect(life.endedCards == ["card-2"])
        life.pass(600)
        #expect(Set(life.onTheWay.map(\.news)) == [.card(CardNews(card: "card-1", reach: .gone))])
        life.answerAll()
        #expect(life.reported() == .gone)
    }

    @Test(
        "once Tally has confirmed the end of the card that it knew, it is told of a later one that it never knew",
        arguments: [false, true],
        [false, true]
    )
    func endOfAnUnreportedCard(isConfirmedFirst: Bool, isAsked: Bool) {
        var life = Life.settled()
        life.appear("card-1")
        life.answerAll()
        life.turn("card-1", .ended)
        if isConfirmedFirst { life.answerAll() }
        life.appear("card-2", token: nil)
        if isAsked {
            let card = SeenCard(id: "card-2", activity: "final", type: "GameAttributes", updateToken: nil)
            life.handle(.ending(card))
        }
        life.turn("card-2", .dismissed)
        life.answerAll()
        life.pass(600)
        life.handle(.foreground)
        life.answerAll()
        let told = life.sent.filter { $0.subject == .activity("final") }.map(\.news)
        #expect(
            told == [
                .card(CardNews(card: "card-1", reach: .token("aa01"))),
                .card(CardNews(card: "card-1", reach: .gone)),
                .card(CardNews(card: "card-2", reach: .gone)),
            ]
        )
    }

    @Test("If the report of a card was lost, Tally is told the end of the card before it as well, and each end once")
    func endsOfAllReported() {
        var life = Life.settled()
        life.appear("card-1")
        life.answerAll()
        life.turn("card-1", .dismissed)
        life.answer(Answer(status: 503))
        life.handle(.starting(activity: "final", AppStart(revision: 7)))
        life.appear("card-2", token: "bb")
        life.pass(60)
        #expect(life.onTheWay.last?.news == .card(CardNews(card: "card-2", reach: .token("bb"), revision: 7)))
        life.onTheWay = []
        life.turn("card-2", .dismissed)
        life.sent = []
        life.pass(600)
        life.answerAll()
        let ends = ["card-2", "card-1"].map { News.card(CardNews(card: $0, reach: .gone)) }
        // Those whose answer was lost came again.
        let told = life.sent.map(\.news).filter(ends.contains)
        #expect(told.first == ends.first)
        #expect(told.last == ends.last)
        life.sent = []
        life.handle(.foreground)
        life.pass(600)
        #expect(!life.sent.map(\.news).contains(where: ends.contains))
    }

    @Test("one reading that misses a card does not end it")
    func oneEmptyReading() {
        var life = Life.settled()
        life.appear("card-1")
        life.answerAll()
        let cards = life.reading.cards
        life.reading.cards = []
        life.relaunch()
        life.handle(.foreground)
        life.reading.cards = cards
        life.pass(3)
        #expect(life.endings.isEmpty)
    }

    @Test("a card is gone once two readings in a row miss it")
    func twoEmptyReadings() {
        var life = Life.settled()
        life.appear("card-1")
        life.answerAll()
        let cards = life.reading.cards
        for found in [[], cards, []] {
            life.reading.cards = found
            life.handle(.foreground)
            #expect(life.endings.isEmpty)
        }
        life.pass(2)
        #expect(life.endings.map(\.cause) == [.unknown])
    }

    @Test("a card whose type the app does not follow yet is not gone")
    func notFollowed() {
        var life = Life.settled()
        life.appear("card-1")
        life.answerAll()
        life.reading = Reading()
        life.relaunch()
        life.pass(3)
        life.handle(.foreground)
        #expect(life.endings.isEmpty)
    }

    @Test("a card on a channel is reported if the app started it, with its revision")
    func channel() {
        var life = Life.settled()
        life.appear("card-1", of: "by push", token: nil)
        life.handle(.starting(activity: "final", AppStart(channel: "Y2hhbm5lbA==", revision: 3)))
        life.appear("card-2", token: nil)
        let news = life.sent.map(\.news)
        #expect(news == [.card(CardNews(card: "card-2", reach: .channel("Y2hhbm5lbA=="), revision: 3))])
    }

    @Test("before iOS 18 a card has an update token, whatever channel the app names", arguments: ["16.2", "17.6.1"])
    func noChannel(osVersion: String) {
        var life = Life.settled()
        life.launch(osVersion: osVersion)
        life.answerAll()
        life.handle(.starting(activity: "final", AppStart(channel: "Y2hhbm5lbA==", revision: 3)))
        life.appear("card-1", token: "aa")
        #expect(life.reportedCard == CardNews(card: "card-1", reach: .token("aa"), revision: 3))
    }

    @Test("a pending card is reported with its token as pending, and once more when it has begun")
    func pending() {
        var life = Life.settled()
        life.schedule("card-1", token: "aa")
        #expect(life.reportedCard == CardNews(card: "card-1", reach: .token("aa"), isPending: true))
        life.answerAll()
        life.turn("card-1", .active)
        #expect(life.reportedCard == CardNews(card: "card-1", reach: .token("aa")))
    }

    @Test("a card that was pending for 9 hours, and is swiped away an hour after it began, was swiped away by the user")
    func swipedAfterPending() {
        var life = Life.settled()
        life.ticketLife = 86_400
        life.schedule("card-1", token: "aa")
        life.answerAll()
        life.pass(9 * 3600)
        life.answerAll()
        life.turn("card-1", .active)
        life.answerAll()
        life.pass(3600)
        life.turn("card-1", .dismissed)
        #expect(life.endings.map(\.cause) == [.user])
    }
}

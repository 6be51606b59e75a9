import Foundation
import TallyKit
import Testing

/// What lives of apps found once their checks were strict, each as one short story.
@Suite("What strict lives of apps found")
struct StricterLivesTests {
    @Test("the end of a card is reported, however long ago it was")
    func oldEnd() {
        var life = Life.settled()
        life.appear("card-1")
        life.answerAll()
        life.ticketLife = nil
        life.now += 7200
        life.turn("card-1", .dismissed)
        life.now += 40 * 3600
        life.ticketLife = 50 * 3600
        life.sent = []
        life.relaunch()
        #expect(life.reported() == .gone)
    }

    @Test("an old start token that a late stream tells twice is not reported, since the property has a newer one")
    func doubled() {
        var life = Life.settled()
        life.reading.startTokens["GameAttributes"] = "22"
        life.handle(.foreground)
        life.answerAll()
        life.sent = []
        for _ in 0..<2 { life.handle(.startToken(type: "GameAttributes", token: "11")) }
        #expect(life.sent.isEmpty)
    }

    @Test("an answer that comes late still counts: nothing is sent twice")
    func lateAnswer() {
        var life = Life.settled()
        life.appear("card-1")
        life.ticketLife = nil
        life.now += 7200
        life.handle(.foreground)
        life.answerAll()
        life.sent = []
        life.ticketLife = 9000
        life.pass(600)
        #expect(life.sent.isEmpty)
    }

    @Test("a card that the app ends before any stream told of it was ended by the app")
    func endedUnseen() {
        var life = Life.settled()
        let card = SeenCard(id: "card-1", activity: "final", type: "GameAttributes", updateToken: "aa")
        life.handle(.ending(card))
        life.answerAll()
        life.reading.cards = []
        life.handle(.foreground)
        life.pass(3)
        #expect(life.reported() == .gone)
        #expect(life.endings.map(\.cause) == [.app])
    }

    @Test("while a card has no token, the property is read again, with pauses that double")
    func silentToken() {
        var life = Life.settled()
        life.appear("card-1", token: nil)
        life.pass(5)
        life.reading.cards[0].updateToken = "aa"
        life.pass(10)
        #expect(life.reported() == .token("aa"))
    }

    @Test("a card for nobody that came while the app slept is ended, however long it slept; a later one stays")
    func lateStart() {
        var life = Life.settled()
        life.handle(.signedIn("anna"))
        life.answerAll()
        life.handle(.signedOut)
        life.answerAll()
        life.now += 10_000
        life.reading.cards = [SeenCard(id: "card-1", activity: "final", type: "GameAttributes", updateToken: "aa")]
        life.relaunch()
        life.pass(3)
        #expect(life.endedCards.contains("card-1"))
        life.appear("card-2", of: "for everybody")
        #expect(!life.endedCards.contains("card-2"))
    }

    @Test("the end of late starts keeps no app awake")
    func idle() {
        var life = Life.settled()
        life.handle(.signedIn("anna"))
        life.answerAll()
        life.handle(.signedOut)
        life.answerAll()
        life.pass(5)
        #expect(life.wake != nil && !life.machine.isBusy)
    }

    @Test("a clock that was set back by half an hour prolongs no wait")
    func setBack() {
        var life = Life.settled()
        life.appear("card-1")
        life.answer(Answer(status: 503, retryAfter: 60))
        life.sent = []
        life.now -= 1800
        life.handle(.foreground)
        #expect(life.reported() == .token("aa01"))
    }
}

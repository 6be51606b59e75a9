import Foundation
import TallyKit
import Testing

/// What lives of apps (`tools/app-lives`) found, each as one short story.
@Suite("What lives of apps found")
struct MendedTests {
    @Test("a card whose end was stored, and whose process died before iOS ended it, is ended by the next process")
    func diedBeforeEnd() {
        var life = Life.settled()
        life.appear("card-1")
        life.answerAll()
        life.diesAfter = 1
        life.handle(.signedOut)
        #expect(life.endedCards == [])
        life.relaunch()
        life.pass(3)
        #expect(life.endedCards.first == "card-1")
    }

    @Test("an app says at each launch who is signed in, and only another user changes something")
    func sameUser() {
        var life = Life.settled()
        life.handle(.signedIn("anna"))
        life.answerAll()
        life.appear("card-1")
        life.answerAll()
        life.sent = []
        life.relaunch()
        life.handle(.signedIn("anna"))
        #expect(life.sent.isEmpty && life.endedCards.isEmpty)
        life.handle(.signedIn("ben"))
        #expect(life.endedCards == ["card-1"])
        life.pass(2)
        #expect(Set(life.onTheWay.map(\.subject)) == [.phone, .activity("final")])
    }

    @Test("a ticket that was asked for before a sign-in is not used, though the requests look alike")
    func lookAlike() {
        var machine = Machine(memory: nil, vendor: nil, random: Random(state: 1))
        var asked: [TicketRequest] = []
        func take(_ event: PhoneEvent) -> [Report] {
            var reports: [Report] = []
            for action in machine.handle(event, at: Life.start) {
                switch action {
                case .read: reports += take(.read(Reading()))
                case .getTicket(let request): asked.append(request)
                case .send(let report): reports.append(report)
                default: break
                }
            }
            return reports
        }
        _ = take(.launched(PhoneFacts(environment: "production", osVersion: "18.1", appVersion: "1")))
        _ = take(.signedIn("anna"))
        #expect(asked.count == 2)
        #expect(take(.ticket(Ticket("of nobody", expiresAt: .distantFuture), for: asked[0], failure: nil)).isEmpty)
        let reports = take(.ticket(Ticket("of anna", expiresAt: .distantFuture), for: asked[1], failure: nil))
        #expect(reports.map(\.ticket) == ["of anna"])
    }

    @Test("a card that went unseen and that Tally never knew was swiped away, so a push does not bring it back")
    func unseenAndUnknown() {
        var life = Life.settled()
        life.appear("card-1", token: nil)
        life.reading.cards = []
        life.relaunch()
        life.pass(3600)
        life.appear("card-2")
        #expect(life.endedCards == ["card-2"])
    }

    @Test("a card that Tally knew may have been ended by a push: a start long after its end is wanted, a repeat is not")
    func unseenAndKnown() {
        for (pause, ended) in [(60.0, ["card-2"]), (3600, [])] {
            var life = Life.settled()
            life.appear("card-1")
            life.answerAll()
            life.reading.cards = []
            life.relaunch()
            life.pass(3)
            life.answerAll()
            life.pass(pause)
            life.appear("card-2")
            #expect(life.endedCards == ended)
        }
    }

    @Test("a card that the app starts is no duplicate of one that is gone")
    func elderIsGone() {
        var life = Life.settled()
        life.appear("card-1")
        life.answerAll()
        life.reading.cards = []
        life.relaunch()
        life.handle(.starting(activity: "final", AppStart(revision: 1)))
        life.appear("card-2", token: "bb")
        life.pass(3)
        life.answerAll()
        #expect(life.endedCards == [])
        #expect(life.reported() == .token("bb"))
    }

    @Test("a card that one reading misses is not reported, and the next reading is two seconds later")
    func missedInForeground() {
        var life = Life.settled()
        life.appear("card-1")
        life.handle(.noAnswer(life.onTheWay.removeFirst().number))
        life.sent = []
        life.pass(60)
        life.answerAll()
        life.sent = []
        life.now += 25 * 3600
        life.reading.cards = []
        life.handle(.foreground)
        #expect(life.reported() == nil)
        life.pass(2)
        #expect(life.reported() == .gone)
    }

    @Test("a card that is gone, but not by the stream of states, was not surely swiped away")
    func goneByAnotherStream() {
        var life = Life.settled()
        life.appear("card-1")
        life.answerAll()
        var card = life.reading.cards.removeFirst()
        card.state = .dismissed
        life.handle(.card(card))
        #expect(life.endings.isEmpty)
        life.handle(.foreground)
        life.pass(2)
        #expect(life.endings.map(\.cause) == [.unknown])
    }

    @Test("the end of a card whose activity Tally does not know is told once")
    func goneUnknown() {
        var life = Life.settled()
        life.appear("card-1")
        life.answer(Answer(status: 404))
        life.turn("card-1", .dismissed)
        life.passToWake()
        life.answer(Answer(status: 404))
        #expect(life.wake == nil)
    }

    @Test("a memory that was made before iOS told the phone's mark gets it later")
    func lateVendor() {
        var life = Life(vendor: nil)
        life.launch()
        life.answerAll()
        life.relaunch()
        let device = life.machine.memory.deviceID
        life.relaunch(vendor: "another phone")
        #expect(life.machine.memory.deviceID != device)
    }

    @Test("after a sign-in, a push before Tally hears of it is for the user before")
    func nextUsersCards() {
        var life = Life.settled()
        life.handle(.signedIn("anna"))
        life.answerAll()
        life.ticketLife = nil
        life.handle(.signedOut)
        life.handle(.signedIn("ben"))
        life.appear("card-1")
        #expect(life.endedCards == ["card-1"])
        life.ticketLife = 7200
        life.pass(600)
        life.appear("card-2", of: "for ben")
        #expect(life.endedCards == ["card-1"])
    }
}

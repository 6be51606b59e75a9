import Foundation
import TallyKit
import Testing

/// Sign-in, sign-out, and tickets.
@Suite("Users and tickets")
struct UserTests {
    @Test("a ticket serves all reports until shortly before it expires")
    func cached() {
        var life = Life.settled()
        life.appear("card-1")
        life.answerAll()
        life.now = Life.start + 3600 - 61
        life.appear("card-2", of: "other", token: "bb")
        life.answerAll()
        #expect(life.tickets.count == 1)
        life.now = Life.start + 3600 - 59
        life.ticketLife = 7200
        life.appear("card-3", of: "third", token: "cc")
        #expect(life.tickets.count == 2)
    }

    @Test("a wrong clock does not ask for a ticket with every report", arguments: [-7 * 86400.0, 7 * 86400.0])
    func wrongClock(offset: Double) {
        var life = Life()
        life.now += offset
        life.launch()
        life.answerAll()
        for number in 0..<10 { life.appear("card-\(number)", of: "activity-\(number)") }
        life.answerAll()
        #expect(life.sent.count == 11)
        #expect(life.tickets.count == 1)
    }

    @Test("a clock that is set back stops no retry")
    func clockSetBack() {
        var life = Life.settled()
        life.appear("card-1")
        life.answer(Answer(status: 503, retryAfter: 60))
        life.now -= 86400
        life.handle(.foreground)
        #expect(life.reported() == .token("aa01"))
        #expect(life.onTheWay.contains { $0.subject == .activity("final") })
    }

    @Test("a sign-out ends the cards, gets a ticket without a user, and outlives the process")
    func signOut() {
        var life = Life.settled()
        life.appear("card-1")
        life.answerAll()
        life.ticketLife = nil
        life.handle(.signedOut)
        #expect(life.endedCards == ["card-1"])
        life.relaunch()
        life.ticketLife = 7200
        life.pass(600)
        #expect(life.tickets.last?.signedOut == true)
        #expect(Set(life.onTheWay.map(\.subject)) == [.phone, .activity("final")])
        life.answerAll()
        life.relaunch()
        #expect(life.onTheWay.isEmpty)
    }

    @Test("a card that a push starts for the user who has signed out is ended")
    func lateStart() {
        var life = Life.settled()
        life.handle(.signedOut)
        life.appear("card-1")
        life.answerAll()
        // Apple may have stored a push.
        life.pass(600)
        life.appear("card-2", of: "other")
        #expect(life.endedCards == ["card-1", "card-2"])
        life.pass(600)
        life.appear("card-3", of: "for everybody")
        #expect(life.endedCards == ["card-1", "card-2"])
    }

    @Test("the answer to a report from before the sign-out does not confirm the sign-out")
    func lateAnswer() {
        var life = Life.settled()
        life.handle(.deviceToken("dd"))
        life.ticketLife = nil
        life.handle(.signedOut)
        life.answer()
        life.pass(1000)
        life.appear("card-1")
        #expect(life.endedCards == ["card-1"])
    }

    @Test("a report of the user before does not count for the next one")
    func nextUser() {
        var life = Life.settled()
        life.handle(.deviceToken("dd"))
        life.handle(.signedOut)
        life.handle(.signedIn("ben"))
        #expect(life.onTheWay.count == 1)
        life.answer()
        #expect(life.onTheWay.count == 1)
        #expect(life.onTheWay.first?.ticket == "ticket-2")
        #expect(life.tickets.last?.signedOut == false)
        life.answerAll()
        #expect(life.sent.count == 2)
    }

    @Test("a ticket that was asked for the user before is not used")
    func lateTicket() {
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
        _ = take(.signedOut)
        #expect(asked.map(\.signedOut) == [false, true])
        #expect(take(.ticket(Ticket("of the user", expiresAt: .distantFuture), for: asked[0], failure: nil)).isEmpty)
        let reports = take(.ticket(Ticket("of nobody", expiresAt: .distantFuture), for: asked[1], failure: nil))
        #expect(reports.map(\.ticket) == ["of nobody"])
    }

    @Test("a card that the app started needs a ticket that names it, and then all others, too")
    func named() {
        var life = Life.settled()
        life.appear("card-1", of: "by push")
        life.answerAll()
        life.handle(.starting(activity: "order-1", AppStart(revision: 1)))
        life.appear("card-2", of: "order-1", token: "bb")
        #expect(life.tickets.last?.activities == ["by push", "order-1"])
        life.answerAll()
        #expect(life.tickets.count == 2)
    }

    @Test("what was stored on another phone starts a new one")
    func restored() {
        var life = Life.settled()
        let old = life.machine.memory
        life.relaunch(vendor: "another phone")
        #expect(life.onTheWay.count == 1)
        #expect(life.machine.memory.deviceID != old.deviceID)
        #expect(life.machine.memory.installation != old.installation)
    }
}

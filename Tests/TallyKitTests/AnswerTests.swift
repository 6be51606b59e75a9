import TallyKit
import Testing

/// What each answer of Tally leads to. Nothing is dropped silently.
@Suite("Answers")
struct AnswerTests {
    private func waiting() -> Life {
        var life = Life.settled()
        life.appear("card-1")
        return life
    }

    @Test("a report is repeated until Tally answers", arguments: [408, 429, 500, 502, 503, 504])
    func repeated(status: Int) {
        var life = waiting()
        for _ in 0..<5 {
            life.answer(Answer(status: status))
            #expect(life.onTheWay.isEmpty)
            life.passToWake()
            #expect(life.onTheWay.count == 1)
        }
        #expect(life.problems.map(\.code) == [.noAnswer])
    }

    @Test("the pauses double, and chance is half of each")
    func pauses() {
        var life = waiting()
        var byChance = 0
        for number in 0..<12 {
            life.handle(.noAnswer(life.onTheWay.removeFirst().number))
            let pause = (life.wake ?? life.now) - life.now
            let whole = min(Double(1 << number), 300)
            #expect(pause >= whole / 2 && pause <= whole)
            if pause < whole * 0.99 { byChance += 1 }
            life.passToWake()
            #expect(life.onTheWay.count == 1)
        }
        #expect(byChance > 6)
    }

    @Test("Retry-After holds for all reports, also for the next process")
    func retryAfter() {
        var life = waiting()
        life.answer(Answer(status: 429, retryAfter: 90))
        life.appear("card-2", of: "other", token: "bb")
        life.pass(89)
        #expect(life.onTheWay.isEmpty)
        life.relaunch()
        #expect(life.onTheWay.isEmpty)
        life.pass(2)
        #expect(life.onTheWay.count == 2)
    }

    @Test("a refused ticket is replaced at once, and the second refusal is told", arguments: [401, 403])
    func refusedTicket(status: Int) {
        var life = waiting()
        life.answer(
            Answer(
                status: status,
                body: AnswerBody(code: "ticket_forbidden", detail: "The ticket is not for this activity.")
            )
        )
        #expect(life.onTheWay.first?.ticket == "ticket-2")
        #expect(life.tickets.last?.activities == ["final"])
        #expect(life.problems.isEmpty)
        life.answer(Answer(status: status, body: AnswerBody(detail: "The ticket is not for this activity.")))
        #expect(life.problems.map(\.code) == [.ticketRefused])
        #expect(life.onTheWay.isEmpty)
        life.passToWake()
        #expect(life.onTheWay.first?.ticket == "ticket-3")
        life.answerAll()
        #expect(life.wake == nil)
    }

    @Test("404 waits for the activity, and is told once")
    func unknownActivity() {
        var life = waiting()
        for _ in 0..<3 {
            life.answer(Answer(status: 404))
            life.passToWake()
        }
        #expect(life.problems.map(\.code) == [.activityUnknown])
        #expect(life.problems.first?.activity == "final")
        #expect(life.onTheWay.count == 1)
    }

    @Test(
        "a report that Tally refuses for good is told with its field, and sent again at the next launch",
        arguments: [400, 409, 413, 422]
    )
    func refused(status: Int) {
        var life = Life()
        life.launch(appVersion: "2.4 beta")
        life.answer(Answer(status: status, body: AnswerBody(errors: [.init(pointer: "/app_version")])))
        #expect(life.problems.map(\.code) == [.reportRefused])
        #expect(life.problems.first?.field == "/app_version")
        life.pass(3600)
        #expect(life.sent.count == 1)
        life.relaunch()
        #expect(life.sent.count == 2)
    }

    @Test("what was refused for good does not hold back what is new")
    func refusedThenNew() {
        var life = waiting()
        life.answer(Answer(status: 422))
        life.reading.cards[0].updateToken = "bb"
        life.handle(.card(life.reading.cards[0]))
        #expect(life.reported() == .token("bb"))
        #expect(life.onTheWay.count == 1)
    }

    @Test("the newest token replaces one that is on its way")
    func newest() {
        var life = waiting()
        for token in ["bb", "cc"] {
            life.reading.cards[0].updateToken = token
            life.handle(.card(life.reading.cards[0]))
        }
        #expect(life.sent.count == 1)
        life.answerAll()
        #expect(life.sent.count == 2)
        #expect(life.reported() == .token("cc"))
    }

    @Test("a report whose process died is sent again, with a later generation")
    func died() {
        var life = waiting()
        life.relaunch()
        #expect(life.sent.count == 2)
        #expect(life.sent[1].number > life.sent[0].number)
        #expect(life.sent[1].news == life.sent[0].news)
    }

    @Test("a later report of this installation makes the next one later still")
    func staleGeneration() {
        var life = waiting()
        life.answer(Answer(status: 200, body: AnswerBody(accepted: false, reason: "stale_generation")))
        life.passToWake()
        #expect(life.onTheWay.count == 1)
        #expect(life.sent[1].number > life.sent[0].number)
    }

    @Test("a phone whose installation was replaced becomes a phone of its own and reports everything")
    func staleInstallation() {
        var life = waiting()
        let device = life.sent[0].deviceID
        life.answer(Answer(status: 200, body: AnswerBody(accepted: false, reason: "stale_installation")))
        #expect(life.problems.map(\.code) == [.installationReplaced])
        #expect(life.onTheWay.map(\.subject) == [.phone, .activity("final")])
        #expect(life.onTheWay.allSatisfy { $0.deviceID != device && $0.ticket == "ticket-2" })
        life.answerAll()
        #expect(life.wake == nil)
    }

    @Test("no ticket: the app is asked again later, and the report leaves then")
    func noTicket() {
        var life = Life()
        life.ticketLife = nil
        life.launch()
        #expect(life.problems.map(\.code) == [.ticketUnavailable])
        life.pass(30)
        #expect(life.tickets.count > 2 && life.tickets.count < 10)
        life.ticketLife = 3600
        life.pass(60)
        #expect(life.onTheWay.count == 1)
    }
}

import Foundation
import Testing

@testable import TallyKit

/// Which revision a card shows, and since when: for a share of the cards, and after everything else.
@Suite("Receipts")
struct ReceiptTests {
    /// The app is on the screen, and Tally knows the phone.
    private func onScreen(sampling: Double? = 1) -> Life {
        var life = Life()
        life.receiptSampling = sampling
        life.launch()
        life.answerAll()
        life.handle(.active)
        life.pass(3)
        life.sent = []
        return life
    }

    /// The same with a card whose first revision Tally knows.
    private func known() -> Life {
        var life = onScreen()
        life.appear("card-1", revision: 1)
        life.pass(5)
        life.answerAll()
        life.pass(5)
        life.answerAll()
        life.sent = []
        return life
    }

    private func receipt(_ revision: Int, age: Int?) -> Receipt {
        Receipt(card: "card-1", activity: "final", revision: revision, age: age)
    }

    @Test("a change that the app sees is reported some seconds later with its age, and once")
    func seen() throws {
        var life = known()
        life.show("card-1", 2)
        life.pass(4)
        #expect(life.receipts.isEmpty)
        life.pass(1)
        #expect(life.receipts == [[receipt(2, age: 5000)]])
        let report = try #require(life.sent.last)
        #expect(report.method == "POST")
        #expect(report.path == "devices/\(life.machine.memory.deviceID)/receipts")
        #expect(
            String(decoding: try report.body(), as: UTF8.self)
                == #"{"receipts":[{"activity_id":"final","age_milliseconds":5000,"revision":2}]}"#
        )
        life.answer()
        #expect(TallyStatus(life.machine.memory).revisionsShown == ["final": 2])
        life.handle(.foreground)
        life.pass(3600)
        #expect(life.receipts.count == 1 && life.wake == nil)
    }

    @Test("what the app finds after a launch, in the background or on its return has no age")
    func found() throws {
        var life = known()
        life.show("card-1", 2, isTold: false)
        life.relaunch()
        life.pass(10)
        life.answerAll()
        life.handle(.active)
        life.handle(.background)
        life.pass(10)
        life.show("card-1", 3)
        life.pass(10)
        life.answerAll()
        life.handle(.foreground)
        life.handle(.active)
        life.show("card-1", 4)
        life.pass(10)
        life.answerAll()
        #expect(life.receipts == [[receipt(2, age: nil)], [receipt(3, age: nil)], [receipt(4, age: nil)]])
        let body = try #require(life.sent.last).body()
        #expect(String(decoding: body, as: UTF8.self) == #"{"receipts":[{"activity_id":"final","revision":4}]}"#)
    }

    @Test("the newest revision replaces one that waits, and follows one on its way; a late stream changes nothing")
    func newest() {
        var life = known()
        life.show("card-1", 2)
        life.show("card-1", 3)
        life.handle(.content(card: "card-1", revision: 2))
        life.pass(5)
        life.show("card-1", 4)
        life.answer()
        life.handle(.content(card: "card-1", revision: 3))
        life.pass(5)
        life.answer()
        life.pass(100)
        #expect(life.receipts == [[receipt(3, age: 5000)], [receipt(4, age: 5000)]])
    }

    @Test("an app whose content names no revision sends none, and one whose server has not asked for them, either")
    func unwanted() {
        for sampling in [nil, 0, 1] as [Double?] {
            var life = onScreen(sampling: sampling)
            life.appear("card-1", revision: sampling == 1 ? nil : 1)
            life.answerAll()
            life.pass(100)
            #expect(life.receipts.isEmpty)
        }
    }

    @Test("a card is in the sample or not for its whole life")
    func sample() {
        let cards = (1...20).map { "card-\($0)" }
        var life = onScreen(sampling: 0.5)
        for card in cards { life.appear(card, of: "match of \(card)", revision: 1) }
        life.answerAll()
        life.pass(5)
        life.answerAll()
        let drawn = Set(life.receipts.joined().map(\.card))
        #expect((1...19).contains(drawn.count))
        life.relaunch()
        life.sent = []
        for card in cards { life.show(card, 2) }
        life.pass(10)
        #expect(Set(life.receipts.joined().map(\.card)) == drawn)
        let share = (0..<4000).filter { Machine.lot(of: "card-\($0)", installation: "5b1d") < 0.25 }.count
        #expect((900...1100).contains(share))
    }

    @Test("a request holds up to 50 receipts, and the rest follows")
    func batches() {
        var life = onScreen()
        for number in 1...60 { life.appear("card-\(number)", of: "match-\(number)", revision: 1) }
        life.answerAll()
        life.pass(5)
        life.answerAll()
        #expect(life.receipts.map(\.count) == [50, 10])
        #expect(Set(life.receipts.joined().map(\.activity)).count == 60)
        #expect(life.wake == nil)
    }

    @Test("a busy server's time to wait holds for receipts alone, also in the next process, and is no problem")
    func busy() {
        var life = known()
        life.show("card-1", 2)
        life.pass(5)
        life.answer(Answer(status: 429, retryAfter: 90))
        life.appear("card-2", of: "other", token: "bb")
        #expect(life.reported("other") == .token("bb"))
        life.answerAll()
        life.relaunch()
        life.pass(89)
        #expect(life.receipts.count == 1)
        life.pass(2)
        #expect(life.receipts.last == [receipt(2, age: 95_000)])
        #expect(life.receipts.count == 2 && life.problems.isEmpty)
    }

    @Test("receipts without an answer are sent again, and are no problem")
    func lost() {
        var life = known()
        life.show("card-1", 2)
        life.pass(5)
        life.handle(.noAnswer(life.onTheWay.removeFirst().number))
        life.passToWake()
        #expect(life.receipts.map { $0.map(\.revision) } == [[2], [2]])
        #expect(life.problems.isEmpty)
    }

    @Test(
        "receipts that Tally refuses are told and dropped, and the next revision is reported",
        arguments: [400, 404, 413, 422]
    )
    func refused(status: Int) {
        var life = known()
        life.show("card-1", 2)
        life.pass(5)
        life.answer(Answer(status: status, body: AnswerBody(errors: [.init(pointer: "/receipts/0/revision")])))
        #expect(life.problems.map(\.code) == [.reportRefused])
        #expect(life.problems.first?.field == "/receipts/0/revision")
        life.relaunch()
        life.pass(100)
        #expect(life.receipts.count == 1)
        #expect(TallyStatus(life.machine.memory).revisionsShown.isEmpty)
        life.show("card-1", 3)
        life.pass(5)
        #expect(life.receipts.last?.map(\.revision) == [3])
    }

    @Test("a receipt survives the process with its age, unless the clock was set back", arguments: [2.0, -100])
    func durable(later: Double) {
        var life = known()
        life.show("card-1", 2)
        life.now += later
        life.relaunch()
        life.pass(10)
        #expect(life.receipts == [[receipt(2, age: later > 0 ? 2000 : nil)]])
    }

    @Test("a sign-out deletes them, also those of cards that stay on the screen; the next user's cards send theirs")
    func signOut() {
        var life = known()
        life.appear("card-2", of: "over", token: "bb", revision: 7)
        life.answerAll()
        life.turn("card-2", .ended)
        life.answerAll()
        life.show("card-1", 2)
        life.handle(.signedOut)
        life.answerAll()
        life.show("card-2", 8)
        life.handle(.foreground)
        life.pass(10)
        life.answerAll()
        #expect(life.receipts.isEmpty)
        life.handle(.signedIn("ben"))
        life.pass(10)
        life.answerAll()
        life.appear("card-3", of: "for ben", token: "cc", revision: 1)
        life.answerAll()
        life.pass(10)
        #expect(life.receipts == [[Receipt(card: "card-3", activity: "for ben", revision: 1, age: nil)]])
    }

    @Test("a card that the app started is reported first, with its token")
    func reportFirst() {
        var life = onScreen()
        life.handle(.starting(activity: "final", AppStart(revision: 1)))
        life.appear("card-1", token: nil, revision: 1)
        life.pass(10)
        #expect(life.sent.isEmpty)
        life.reading.cards[0].updateToken = "aa"
        life.handle(.card(life.reading.cards[0]))
        #expect(life.sent.map(\.subject) == [.activity("final")])
        life.answer()
        #expect(life.sent.map(\.subject) == [.activity("final"), .receipts])
    }

    @Test("a card that a push started needs no token, and is reported again once Tally has confirmed its token")
    func withoutToken() {
        var life = onScreen()
        life.appear("card-1", token: nil, revision: 1)
        life.pass(10)
        #expect(life.sent.map(\.subject) == [.receipts])
        life.answerAll()
        life.reading.cards[0].updateToken = "aa"
        life.handle(.card(life.reading.cards[0]))
        life.answerAll()
        #expect(life.sent.map(\.subject) == [.receipts, .activity("final"), .receipts])
    }

    @Test("are sent again if their answer comes after that to the report of their card, which left later")
    func overtaken() {
        var life = onScreen()
        life.appear("card-1", token: nil, revision: 1)
        life.pass(10)
        life.reading.cards[0].updateToken = "aa"
        life.handle(.card(life.reading.cards[0]))
        #expect(life.onTheWay.map(\.subject) == [.receipts, .activity("final")])
        let receipts = life.onTheWay.removeFirst()
        life.answer()
        life.onTheWay.insert(receipts, at: 0)
        life.answerAll()
        life.pass(10)
        #expect(life.sent.map(\.subject) == [.receipts, .activity("final"), .receipts])
    }

    @Test("leave with a ticket that names the activities of all, if it names any")
    func named() throws {
        var life = onScreen()
        life.handle(.starting(activity: "order-1", AppStart(revision: 1)))
        life.appear("card-2", of: "order-1", token: "bb")
        life.answerAll()
        #expect(life.tickets.last?.activities == ["order-1"])
        life.appear("card-1", token: nil, revision: 1)
        life.pass(5)
        #expect(life.tickets.last?.activities == ["final", "order-1"])
        #expect(life.sent.last?.subject == .receipts)
        #expect(life.sent.last?.ticket == "ticket-\(life.tickets.count)")
    }

    @Test("are worth no background time: neither those that wait nor those on their way")
    func background() {
        var life = known()
        life.show("card-1", 2)
        #expect(!life.machine.isBusy)
        life.pass(5)
        #expect(life.onTheWay.map(\.subject) == [.receipts])
        #expect(!life.machine.isBusy)
    }

    @Test("a phone that becomes a phone of its own reports its cards, and then what they show")
    func newPhone() {
        var life = known()
        life.handle(.deviceToken("dd"))
        life.answer(Answer(status: 200, body: AnswerBody(accepted: false, reason: "stale_installation")))
        life.answerAll()
        life.pass(10)
        life.answerAll()
        #expect(life.receipts == [[receipt(1, age: nil)]])
        #expect(life.sent.last?.deviceID == life.machine.memory.deviceID)
    }
}

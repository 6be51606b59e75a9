import Foundation
import TallyKit
import Testing

/// What the phone follows: kept until Tally has it, and never in the way of tokens.
@Suite("Topics")
struct TopicTests {
    private func reported(_ life: Life) -> [[String]] {
        life.sent.compactMap { if case .topics(let topics) = $0.news { topics } else { nil } }
    }

    @Test("are reported once, in a report of their own, with a ticket that was asked to allow them")
    func reported() throws {
        var life = Life.settled()
        life.handle(.topics(["team:psv", "team:ajax", "team:psv"]))
        let report = try #require(life.sent.last)
        #expect(reported(life) == [["team:ajax", "team:psv"]])
        #expect(life.tickets.last?.topics == ["team:ajax", "team:psv"])
        #expect(report.ticket == "ticket-\(life.tickets.count)")
        #expect(report.path == "devices/\(life.machine.memory.deviceID)")
        let body = try #require(try JSONSerialization.jsonObject(with: report.body()) as? NSDictionary)
        #expect(
            body == [
                "environment": "production", "installation": report.installation, "os_version": "18.1",
                "app_version": "2.10", "topics": ["team:ajax", "team:psv"],
            ]
        )
        life.answerAll()
        #expect(TallyStatus(life.machine.memory).topics == ["team:ajax", "team:psv"])
        // Apps may say the same at each launch.
        life.handle(.topics(["team:psv", "team:ajax"]))
        #expect(life.sent.count == 1 && life.wake == nil)
    }

    @Test("wait for the first report of the phone, and survive the process")
    func durable() {
        var life = Life()
        life.launch()
        life.handle(.topics(["premium"]))
        #expect(life.sent.map(\.subject) == [.phone])
        life.relaunch()
        life.answerAll()
        #expect(reported(life) == [["premium"]])
        life.relaunch()
        life.answerAll()
        #expect(reported(life) == [["premium"]])
    }

    @Test("a newer list replaces an older one, and the ticket allows what the report takes away")
    func newest() {
        var life = Life.settled()
        life.handle(.topics(["a"]))
        life.handle(.topics(["b"]))
        life.handle(.topics(["c"]))
        #expect(reported(life) == [["a"]])
        // Nobody knows whether Tally has taken it.
        life.handle(.noAnswer(life.onTheWay.removeFirst().number))
        life.passToWake()
        #expect(reported(life) == [["a"], ["c"]])
        #expect(life.tickets.last?.topics == ["a", "c"])
        life.answerAll()
        life.handle(.topics([]))
        life.answerAll()
        #expect(reported(life).last == [])
        #expect(life.tickets.last?.topics == ["a", "c"])
        life.handle(.topics(["d"]))
        #expect(life.tickets.last?.topics == ["d"])
    }

    @Test("that Tally refuses are told, and hold back no token", arguments: [403, 422])
    func refused(status: Int) {
        var life = Life.settled()
        life.handle(.topics(["forbidden"]))
        let refusal = Answer(status: status, body: AnswerBody(errors: [.init(pointer: "/topics")]))
        while !life.onTheWay.isEmpty { life.answer(refusal) }
        #expect(life.problems.map(\.code) == [status == 403 ? .ticketRefused : .reportRefused])
        life.reading.startTokens["GameAttributes"] = "5747"
        life.handle(.startToken(type: "GameAttributes", token: "5747"))
        #expect(life.sent.last?.subject == .phone)
        #expect(life.reportedFacts?.startTokens == ["GameAttributes": "5747"])
    }

    @Test("belong to the phone, whoever is signed in, and a phone with a new id reports them again")
    func users() {
        var life = Life.settled()
        life.handle(.topics(["a"]))
        life.answerAll()
        life.handle(.signedIn("ada"))
        life.answerAll()
        #expect(reported(life) == [["a"]])
        life.handle(.topics(["b"]))
        life.answer(Answer(status: 200, body: AnswerBody(accepted: false, reason: "stale_installation")))
        life.answerAll()
        #expect(reported(life) == [["a"], ["b"], ["b"]])
        #expect(life.tickets.last?.topics == ["b"])
        #expect(life.wake == nil)
    }
}

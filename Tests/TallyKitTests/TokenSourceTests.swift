import TallyKit
import Testing

/// Where tokens come from: streams and properties, each of which may be silent.
@Suite("Tokens")
struct TokenSourceTests {
    @Test(
        "a start token is reported, whichever source tells it",
        arguments: ["stream", "property", "second reading", "foreground"]
    )
    func sources(source: String) {
        var life = Life.settled()
        if source == "stream" {
            life.handle(.startToken(type: "GameAttributes", token: "5747"))
        } else {
            life.reading.startTokens["GameAttributes"] = "5747"
            switch source {
            case "property": life.relaunch()
            case "second reading":
                life = Life()
                life.launch()
                life.answerAll()
                life.reading.startTokens["GameAttributes"] = "5747"
                life.pass(2)
            default:
                life.pass(60)
                life.sent = []
                life.reading.startTokens["GameAttributes"] = "5748"
                life.handle(.foreground)
                #expect(life.reportedFacts?.startTokens == ["GameAttributes": "5748"])
                return
            }
        }
        #expect(life.reportedFacts?.startTokens == ["GameAttributes": "5747"])
    }

    @Test("a report reads the properties first: a late stream does not bring an old token back")
    func propertyWins() {
        var life = Life.settled()
        life.now += 10
        life.reading.startTokens["GameAttributes"] = "22"
        life.handle(.startToken(type: "GameAttributes", token: "11"))
        #expect(life.reportedFacts?.startTokens == ["GameAttributes": "22"])
    }

    @Test("a token that iOS no longer tells is still reported, also by the next process")
    func neverBackToUnknown() {
        var life = Life.settled()
        life.handle(.startToken(type: "GameAttributes", token: "11"))
        life.handle(.deviceToken("dd"))
        life.relaunch()
        #expect(life.reportedFacts?.startTokens == ["GameAttributes": "11"])
        #expect(life.reportedFacts?.deviceToken == "dd")
    }

    @Test("tokens of the other environment are forgotten")
    func otherEnvironment() {
        var life = Life.settled()
        life.handle(.startToken(type: "GameAttributes", token: "11"))
        life.launch(environment: "sandbox")
        life.answerAll()
        #expect(life.reportedFacts?.startTokens == [:])
    }

    @Test("nothing is reported twice while Tally has confirmed it, and once more after a day")
    func confirmed() {
        var life = Life.settled()
        life.relaunch()
        #expect(life.sent.isEmpty)
        life.now += 25 * 3600
        life.relaunch()
        #expect(life.sent.count == 1)
    }

    @Test("an update token is reported when it comes and when it changes, each with a later generation")
    func updateToken() {
        var life = Life.settled()
        life.appear("card-1", token: nil)
        #expect(life.sent.isEmpty)
        for token in ["aa", "bb"] {
            life.reading.cards[0].updateToken = token
            life.handle(.card(life.reading.cards[0]))
            #expect(life.reported() == .token(token))
            life.answerAll()
        }
        #expect(life.sent.map(\.number) == life.sent.map(\.number).sorted())
        #expect(Set(life.sent.map(\.number)).count == 2)
    }

    @Test("a card that a push started while the app did not run is found at the launch")
    func launchedForCard() {
        var life = Life.settled()
        life.reading.cards = [SeenCard(id: "card-1", activity: "final", type: "GameAttributes", updateToken: "aa")]
        life.relaunch()
        // The properties are read before a report, and two seconds later at the latest.
        life.pass(2)
        #expect(life.reported() == .token("aa"))
    }
}

import ActivityModel

/// One card of an activity on a phone.
struct Card: Sendable {
    let activity: String
    /// Counts the cards of a phone.
    let number: Int
    /// Nil for a card that listens to a channel.
    var updateToken: String?
    var channel: String?
    /// The state that it shows.
    var score: Int64
    var timestamp: Timestamp
    var isEnded = false
    /// Swiped away, or ended so long ago that it is not there any more.
    var isGone = false
    /// Grows with each report of this card.
    var generation: Int64
    /// Whether the app has still to report it, or its new token.
    var isReportDue = true
    /// Whether Tally has been told of its token (or channel) as it is now.
    var isKnown = false
    /// The newest revision that was accepted when Tally was told of this card's first token; nil before.
    var knownSince: Revision?
    /// When the first report of it was answered, as ``Apple/State/uptime``; nil before.
    var reportedAt: Int64?
    /// The app started it, and no push of Tally's.
    var isOwn = false
    /// The app has scheduled it, and it has not begun.
    var isPending = false
    /// Every update token that it has had.
    var tokens: [String] = []
    /// The backend has asked for its end on this phone alone, and the app reports it no more.
    var hasLeft = false
    /// That was answered.
    var isToEnd = false
    /// Alerts that it showed.
    var alerts: [String] = []
    /// The push that started it; nil if its app did.
    var start: ArrivedPush?
    /// When it came to the screen, and when it was ended, as ``Apple/State/uptime``.
    var shownAt: Int64 = 0
    var endedAt: Int64?
    /// It was ended without a state: so old cards are, when new ones have taken their place.
    var isContinued = false
    /// Whether Tally has been told that it is gone.
    var isGoneKnown = false

    /// Whether it is on the screen and takes updates.
    var isShown: Bool { !isGone && !isEnded }

    /// Whether it is pending, and begins in this life.
    var isToBegin: Bool { isPending && !isEnded && !number.isMultiple(of: 2) }
}

/// A phone as far as a server can see it: what it does with a push depends on nothing but what it has got so far.
struct Phone: Sendable {
    let id: String
    let osVersion: String
    /// Whether its app reports cards that listen to channels; Tally does not ask for it.
    let reportsChannels: Bool
    var appVersion = "1.0"
    /// Since when Tally knows that it has the newer app, as ``Apple/State/uptime``.
    var newerSince: Int64?
    /// The app that Tally knows it to have, and since when, as ``Apple/State/uptime``.
    var knownApp: (version: String, since: Int64)?
    var startToken: String
    /// Every start token that it has had.
    var startTokens: [String] = []
    var isStartTokenKnown = false
    var cards: [Card] = []
    /// Counts what it has handed out, so that no two tokens are alike.
    var handedOut = 0
    /// Pushes that it did not show, and why.
    var ignored: [String] = []

    init(number: Int, reportsChannels: Bool = true) {
        id = "phone\(number)"
        self.reportsChannels = reportsChannels
        // One in five knows no channels.
        osVersion = number.isMultiple(of: 5) ? "17.4" : "18.1"
        startToken = "a0" + Self.hex(number) + "0000"
        startTokens = [startToken]
    }

    static func hex(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: max(4 - digits.count, 0)) + digits
    }

    /// What the tokens of one phone have in common, and no other has.
    static func number(ofToken token: String) -> Substring { token.dropFirst(2).prefix(4) }

    private mutating func newToken(_ kind: String) -> String {
        handedOut += 1
        return kind + Self.number(ofToken: startToken) + Self.hex(handedOut)
    }

    /// The card of an activity that was made last.
    func newestCard(of activity: String) -> Int? {
        cards.lastIndex { $0.activity == activity }
    }

    mutating func rotateStartToken() {
        startToken = newToken("a0")
        startTokens.append(startToken)
        isStartTokenKnown = false
    }

    mutating func rotateUpdateToken(of card: Int) {
        guard cards[card].updateToken != nil else { return }
        let token = newToken("b0")
        cards[card].updateToken = token
        cards[card].tokens.append(token)
        cards[card].generation += 1
        cards[card].isReportDue = true
        cards[card].isKnown = false
    }

    /// What it does with a start that has reached it.
    mutating func show(_ push: ArrivedPush, channel: String?, at uptime: Int64) {
        guard push.alert != nil else { return ignored.append("a start without an alert") }
        guard let content = push.content else { return ignored.append("a start without a state") }
        let token = channel == nil ? newToken("b0") : nil
        cards.append(
            Card(
                activity: content.match,
                number: cards.count + 1,
                updateToken: token,
                channel: channel,
                score: content.score,
                timestamp: push.timestamp,
                generation: Int64(cards.count) * 1_000,
                isReportDue: channel == nil || reportsChannels,
                tokens: token.map { [$0] } ?? [],
                alerts: push.alert.map { [$0] } ?? [],
                start: push,
                shownAt: uptime
            )
        )
    }

    /// The app starts a card itself, with a state that it has from elsewhere; or schedules it.
    mutating func startCard(of activity: String, score: Int64, at uptime: Int64) {
        let token = newToken("b0")
        cards.append(
            Card(
                activity: activity,
                number: cards.count + 1,
                updateToken: token,
                score: score,
                timestamp: 0,
                generation: Int64(cards.count) * 1_000,
                isOwn: true,
                isPending: handedOut.isMultiple(of: 2),
                tokens: [token],
                shownAt: uptime
            )
        )
    }

    /// A card begins that Tally knows as pending, and its app reports it anew.
    mutating func begin(_ card: Int) {
        guard cards[card].isToBegin, cards[card].reportedAt != nil else { return }
        cards[card].isPending = false
        cards[card].generation += 1
    }

    /// What a card does with an update or an end that has reached the phone.
    mutating func take(_ push: ArrivedPush, at card: Int, uptime: Int64) {
        guard !cards[card].isGone, !cards[card].isEnded else { return }
        guard push.timestamp > cards[card].timestamp else { return ignored.append("an old timestamp") }
        cards[card].timestamp = push.timestamp
        if let content = push.content { cards[card].score = content.score }
        cards[card].isEnded = push.event == "end"
        if cards[card].isEnded {
            cards[card].endedAt = uptime
            cards[card].isContinued = push.content == nil
        }
        if let alert = push.alert { cards[card].alerts.append(alert) }
    }
}

/// What a push says, as far as it matters here.
struct ArrivedPush: Sendable, Hashable {
    /// A state of a match.
    struct Content: Sendable, Hashable {
        let match: String
        let score: Int64
        /// Whether the newer app decodes it, too.
        let hasMinute: Bool
    }

    let event: String
    /// Nil for an end that goes to a phone which could not decode the newest state.
    let content: Content?
    let timestamp: Timestamp
    let alert: String?
    /// The channel that a start subscribes its card to.
    let channel: String?
}

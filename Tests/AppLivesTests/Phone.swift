@testable import TallyKit

/// Who really ended a card.
enum TrueCause: String, Sendable {
    case user, system, app

    func agrees(with cause: CardEnding.Cause) -> Bool { cause.rawValue == rawValue }
}

/// A card as iOS has it.
struct PhoneCard: Sendable {
    let id: String
    /// Its number at the simulator.
    var number: Int
    let activity: String
    let startedAt: Double
    /// By the phone's clock.
    let startedAtByPhone: Double
    let isAppStarted: Bool
    /// Its update token.
    var token: String?
    var tokenAt: Double = 0
    /// When the app was first told of it.
    var firstToldAt: Double?
    var state = CardState.active
    /// When it began; 0 for one that was never pending.
    var begunAt: Double = 0
    /// Why it takes no more updates; nil while it does.
    var cause: TrueCause?
    /// When that was.
    var goneAt: Double?
    /// Whether the app that runs now was told the token as it is.
    var isTokenTold = false
    /// When the app asked iOS to end it; nil if it has not.
    var endAskedAt: Double?
    /// Whether a process was told of it and went on, so that the library has stored it.
    var wasTold = false
    /// Whether the phone's clock was set while the card was there.
    var hasClockChanged = false
    /// The revision of its content, and when the card began to show each that it has shown.
    var revision: Int
    var shownAt: [Int: Double] = [:]

    var isLive: Bool { cause == nil }
    /// Whether it is to stay on the screen.
    var stays: Bool { isLive && endAskedAt == nil }
}

/// What the streams of ActivityKit tell, in the order of each stream.
enum StreamNews: Sendable {
    case startToken(String)
    case appeared(card: String)
    case token(card: String, String)
    case state(card: String, CardState)
    case content(card: String, revision: Int)

    /// News of one stream stay in order.
    var stream: String {
        switch self {
        case .startToken: "start tokens"
        case .appeared: "cards"
        case .token(let card, _): "tokens of \(card)"
        case .state(let card, _): "states of \(card)"
        case .content(let card, _): "contents of \(card)"
        }
    }

    /// Changes of content came later than the other kinds, and shift none of their draws.
    var chance: Chance { if case .content = self { .content } else { .stream } }
}

/// The process of an app.
struct AppProcess {
    var library: any Library
    let epoch: Int
    var isForeground: Bool
    var isSuspended = false
    /// What came while it was suspended.
    var held: [Happening] = []
    /// Reports without an answer.
    var onTheWay: [Int: Report] = [:]
    /// Which timer counts; an earlier one is cancelled.
    var timer = 0
    /// Which suspension counts.
    var suspension = 0
    /// The process dies after so many more actions.
    var diesAfter: Int?
    /// Streams that tell nothing, by their first word.
    var silentStreams: Set<String> = []
    /// When each stream is free for its next news.
    var streamFree: [String: Double] = [:]
    /// Cards whose streams are listened to, and those of them that were live when that began.
    var watched: Set<String> = []
    var watchedLive: Set<String> = []
    /// The property of the start token stays empty.
    var hasEmptyTokenProperty = false
    /// Properties are empty until then.
    var propertiesSince: Double
    /// Whether the start token as it is was told in this process.
    var isStartTokenTold = false
    /// Since when it runs without a pause.
    var awakeSince: Double
    /// When the process was first told of each card.
    var told: [String: Double] = [:]
    /// Cards of which a stream told that they ended, or that they left the screen.
    var toldEnded: Set<String> = []
    var toldDismissed: Set<String> = []
}

/// News that Tally has confirmed to the app.
struct ConfirmedNews {
    let news: News
    let device: String
    /// By the phone's clock.
    let at: Double
}

/// A phone with one app.
struct Phone {
    let number: Int
    var vendor: String?
    /// What the app has stored.
    var kept: Kept?
    var process: AppProcess?
    var cards: [PhoneCard] = []
    var startToken: String?
    var isOnline = true
    /// How far its clock is off, in seconds.
    var clockOffset: Double = 0
    /// Apple starts no app that the user has swiped out of the switcher.
    var isForceQuit = false
    /// Who is signed in to the app; nil: nobody.
    var user: String?
    /// What Apple keeps for it while it is offline, with the time when it expires.
    var inbox: [(push: Push, until: Double)] = []
    /// Activities whose card the user swiped away while the app knew the card.
    var dismissed: Set<String> = []
    /// The same, whether or not the app knew it.
    var swiped: Set<String> = []
    /// Counts what it has handed out.
    var handedOut = 0
    var isThere = true
    /// When Tally learned who is signed in; nil if it has not.
    var userKnownAt: Double?
    /// Whether a sign-out has begun. If the app dies in it, TallyKit may have stored it, and the next process goes on with it
    /// until the app says who is there.
    var isSigningOut = false
    /// When the user before left; nil if nobody did.
    var leftAt: Double?
    /// Who that was.
    var leaver: String?
    /// Whether the clock was set since then.
    var hasClockChangedSinceLeft = false
    /// When the app first reported who is signed in, and the number of that report.
    var userToldAt: Double?
    var firstReportOfUser: Int?
    /// When the app learned that Tally knows it.
    var userConfirmedAt: Double?
    /// When the app, awake, first knew that no push comes any more for the user before.
    var lateStartsOverAt: Double?
    /// The process from which a report of who is signed in has left, if it has stored nothing since.
    var unstoredReport: Int?
    /// Whether the last report of the user who is signed in got no answer.
    var hasLostAnswer = false
    /// The number of the last report on each subject.
    var lastSent: [Subject: Int] = [:]
    /// What Tally has confirmed to the app.
    var confirmed: [Subject: ConfirmedNews] = [:]
    /// How often each piece of news was sent in this calm wake.
    var sentInWake: [News: Int] = [:]
    /// Whether it had a calm wake.
    var hasWoken = false
    /// Cards that others continue, and that Tally has not ended so far.
    var overlaps: Set<String> = []
    /// Cards of which the app was told that they ended.
    var endsTold: Set<String> = []

    /// Another user is there now, or nobody.
    mutating func forgetUser() {
        userKnownAt = nil
        userToldAt = nil
        firstReportOfUser = nil
        userConfirmedAt = nil
        lateStartsOverAt = nil
        unstoredReport = nil
        hasLostAnswer = false
    }

    func card(_ id: String) -> Int? { cards.firstIndex { $0.id == id } }
}

/// What happens at a time.
enum Happening {
    case stream(StreamNews)
    case ticket(TicketRequest, Ticket?)
    case answer(Int, Answer?)
    case timer(Int)
    case suspend(Int)
    /// A report reaches Tally. `isByIOS`: after the app was suspended.
    case report(Report, isLost: Bool, isByIOS: Bool)
    case push(Push)
    /// The backend changes an activity, and how many times it has before.
    case change(String, Int)
    case cardToken(String)
    /// A card begins that the app has scheduled.
    case cardBegins(String)
    /// iOS ends a card that is too old, or takes it from the screen.
    case cardAges(String)
    case leaveScreen(String)
    case endByApp(String)
    /// Tally must have ended a card that another continues.
    case overlapEnds(String)
}

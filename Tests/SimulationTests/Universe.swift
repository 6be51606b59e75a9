import APITypes
import ActivityModel
import Cryptography
import JSON
import Postgres
import Registry
import Synchronization
import TestSupport

@testable import Delivery
@testable import Orchestrator
@testable import Store

/// One run of the simulation: daemons on one database, Apple, phones, and a backend that posts.
final class Universe {
    /// What a backend was promised with a 202.
    struct Accepted: Sendable {
        let revision: Revision
        let score: Int64
        let kind: ChangeKind
        let alert: String?
        let mustDeliver: Bool
        /// Whether the newer app decodes its state.
        let hasMinute: Bool
        /// When it was accepted, as ``Apple/State/uptime``; 0 for what was scheduled, of which that is not known.
        var uptime: Int64 = 0
    }

    /// An activity as the backend knows it.
    struct Match: Sendable {
        let id: String
        let delivery: Delivery
        /// Whether it starts at a time: what comes before is merged into what it starts with.
        let isScheduled: Bool
        /// Of which topics the followers are started; nil for an audience without topics.
        var audience: Audience?
        var accepted: [Accepted] = []
        /// What was promised for later.
        var scheduled: [Post] = []

        var newest: Accepted? { accepted.max { $0.revision < $1.revision } }
        var hasEnded: Bool { accepted.contains { $0.kind == .end } }
    }

    /// A post that was not answered: it may have been accepted, and is posted again under the same key.
    struct Unanswered: Sendable {
        let match: Int
        let request: Post
    }

    static let app = BundleID(stored: "com.example.app")
    static let game = ActivityTypeName(stored: "Game")
    /// The app whose states need a minute, in lives that know one.
    static let newerApp = "2.0"
    /// One life in so many has a crowd of phones.
    private static let livesPerCrowd: UInt64 = 25
    /// One life in so many has an outage.
    private static let livesPerOutage: UInt64 = 8
    /// One life in so many has a large crowd.
    private static let livesPerLargeCrowd: UInt64 = 500
    /// One life in so many has topics.
    private static let livesPerTopics: UInt64 = 3
    /// One life in so many has cards that new cards continue.
    private static let livesPerContinuations: UInt64 = 3
    /// How many seconds a start may wait for its phone.
    private static let startExpiration = 300
    /// Enough for mass rejections, with the answers of a minute before; and few enough to be one batch, so that nothing
    /// of a turn goes on beside the step that it waits for.
    private static let crowdSize = StartClaims.batchSize - 1

    let clock: VirtualClock
    /// The connections of all daemons.
    let database: Database
    let apple: Apple
    let stage = Stage()
    let masterKey = SymmetricKey.generate()
    var random: SeededRandom
    var now: Int64 { apple.with { $0.now } }
    /// When the clock was set to another time, as ``Apple/State/uptime``, and by how many milliseconds.
    var clockSteps: [(uptime: Int64, by: Int64)] = []
    /// By how many milliseconds the clock was set back in all.
    var steppedBack: Int64 { clockSteps.reduce(0) { $0 + max(-$1.by, 0) } }
    /// Channels that are kept ready.
    let channelPool: Int
    /// Whether the type has a second version, which needs more than the first and has its own apps.
    let hasTwoVersions: Bool
    /// What the policy says of cards that have not begun.
    let pendingUpdates: PendingUpdates
    /// How many seconds apart routine changes are sent; nil in most lives: it does not matter.
    let interval: Int?
    /// Whether channels store nothing.
    let isForgetful: Bool
    /// How many starts a phone takes in a minute: in half of all lives so few that starts are put off.
    let startBudget: Int
    /// How many cards make a ring that is divided: in most lives so few that activities come to have several.
    let ringSize: Int
    /// In a crowd there is weather: between these steps Apple rejects every token.
    let storm: Range<Int>?
    /// Between these steps Apple takes nothing at all, while the backend goes on posting.
    let outage: Range<Int>?
    /// Whether the first match has a large crowd (``Fan``).
    let isLarge: Bool
    /// Whether some apps report no cards that listen to channels.
    let hasSilentPhones: Bool
    /// Whether users and devices follow topics, and activities are started for them.
    let hasTopics: Bool
    /// Whether hours pass, and new cards continue old ones. Its cards have ids.
    let hasContinuations: Bool
    /// When Tally was told that a phone shows no card of a match any more, by the ids of both.
    var goodbyes: [String: Int64] = [:]
    /// How many cards were handed over without any fault.
    var handOvers = 0
    /// How many cards ended because their phones left the audience by their topics.
    var unfollowed = 0
    /// What each user and each device follows, by its id.
    var follows: [String: Set<Topic>] = [:]
    /// When a phone did not belong to the audience of a match, by the ids of both.
    var absences: [String: [Absence]] = [:]
    var daemons: [Daemon] = []
    var matches: [Match] = []
    var unanswered: [Unanswered] = []
    /// The last look of each daemon after its partitions.
    var looks: [String: Stage.Actor] = [:]
    /// Reports that come once more.
    var oldReports: [OldReport] = []
    /// Whether some activity had several rings in the end.
    var hasDividedRings = false
    /// Counts daemons, tasks, posts: names that no two have.
    private var counter = 0

    init(seed: UInt64, clock: VirtualClock, database: Database) {
        random = SeededRandom(seed: seed)
        self.clock = clock
        self.database = database
        channelPool = Int.random(in: 0..<100, using: &random) < 30 ? 2 : 0
        isLarge = seed % Self.livesPerLargeCrowd == 7
        pendingUpdates = seed.isMultiple(of: 3) ? .pass : .wait
        // Not by chance, so that the other lives stay as they are.
        hasContinuations =
            seed % Self.livesPerContinuations == 2 && !seed.isMultiple(of: Self.livesPerCrowd) && !isLarge
        // Only the end of a card that was handed over has no state then.
        hasTwoVersions = Int.random(in: 0..<100, using: &random) < 30 && !isLarge && !hasContinuations
        if seed.isMultiple(of: Self.livesPerCrowd) {
            let beginning = Int.random(in: 5...40, using: &random)
            storm = beginning..<beginning + .random(in: 10...80, using: &random)
        } else {
            storm = nil
        }
        interval = Int.random(in: 0..<100, using: &random) < 40 ? Int.random(in: 1...30, using: &random) : nil
        isForgetful = Int.random(in: 0..<100, using: &random) < 30
        startBudget = Bool.random(using: &random) ? Int.random(in: 1...2, using: &random) : 10
        let isFew = Int.random(in: 0..<100, using: &random) < 75
        ringSize =
            isLarge
            ? Fan.count / 3
            : !isFew ? 50_000 : storm != nil ? Self.crowdSize / 3 : Int.random(in: 1...2, using: &random)
        hasSilentPhones = Bool.random(using: &random)
        if storm == nil, seed.isMultiple(of: Self.livesPerOutage) {
            let beginning = Int.random(in: 30...60, using: &random)
            outage = beginning..<beginning + .random(in: 30...80, using: &random)
        } else {
            outage = nil
        }
        // Not by chance, so that the other lives stay as they are.
        hasTopics = seed % Self.livesPerTopics == 1 && storm == nil && !isLarge
        apple = Apple(seed: seed ^ 0x5EED, phones: storm == nil ? 5 : Self.crowdSize, silent: hasSilentPhones)
    }

    func number() -> Int {
        counter += 1
        return counter
    }

    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    /// What happened, in order; equal for equal seeds.
    var story: [String] { apple.with { $0.story } }

    func note(_ text: String) { apple.with { $0.note(text) } }

    // MARK: Beginning and end

    func begin() async throws {
        try await clock.reset()
        apple.with { $0.now = VirtualClock.beginning }
        addDaemon()
        addDaemon()
        let orchestrator = daemons[0].orchestrator
        _ = try await orchestrator.registry.putApp(
            Self.app,
            AppRequest(
                teamID: TeamID(stored: "ABCDE12345"),
                channelPool: channelPool,
                environments: [
                    .production: SigningKeyRequest(
                        keyID: KeyID(stored: "KEY1234567"),
                        privateKey: P256PrivateKey.generate().pem()
                    )
                ]
            )
        )
        try await putType(requiring: ["score", "match"])
        if hasTwoVersions { try await putType(requiring: ["score", "match", "minute"], for: Self.newerApp) }
    }

    /// Every change of a state waits so many seconds after the last push.
    private static func pace(_ seconds: Int) -> PolicyRule {
        PolicyRule(changed: JSONPointer(tokens: ["score"]), minimumIntervalSeconds: seconds)
    }

    private func putType(requiring fields: [String], for app: String? = nil) async throws {
        var policy = Policy()
        policy.startRetrySeconds = 20
        policy.pendingUpdates = pendingUpdates
        policy.expiration.start = Self.startExpiration
        if let interval { policy.rules = [Self.pace(interval)] }
        if hasContinuations { policy.continueAfterHours = Self.continueAfterHours }
        if isForgetful { policy.channelStorage = .none }
        (policy.startBudget.count, policy.startBudget.windowSeconds) = (startBudget, 60)
        let state: JSONObject = [
            "type": "object",
            "required": .array(fields.map { .string($0) }),
            "properties": [
                "score": ["type": "integer"], "match": ["type": "string"], "minute": ["type": "integer"],
            ],
        ]
        _ = try await daemons[0].orchestrator.registry.putType(
            Self.app,
            Self.game,
            TypeRequest(
                source: .schemas(attributes: ["type": "object"], contentState: .object(state)),
                policy: policy,
                minAppVersion: app.flatMap { AppVersion($0) }
            ),
            force: false
        )
    }

    func finish() async {
        for daemon in daemons { daemon.kill() }
        while let actor = stage.waiting.first { await stage.goOn(actor) }
        for daemon in daemons { await daemon.bury() }
    }

    // MARK: Daemons

    func addDaemon() {
        let name = "daemon\(number())"
        let jitter = Jitter(seed: UInt64.random(in: 0...UInt64.max, using: &random))
        var settings = OrchestratorSettings()
        settings.ringSize = ringSize
        settings.jitter = { jitter.next() }
        settings.uptime = { [apple] in .milliseconds(apple.with { $0.uptime }) }
        // Only a daemon that is dead finds the database away.
        settings.pause = { _ in throw CancellationError() }
        daemons.append(
            Daemon(
                name: name,
                database: database,
                masterKey: masterKey,
                apple: apple,
                stage: stage,
                clock: clock,
                settings: settings
            )
        )
        note("\(name) starts")
    }

    /// A daemon that lives; never nil, because a dead one is replaced at once.
    func anyDaemon() -> Daemon {
        daemons[Int.random(in: 0..<daemons.count, using: &random)]
    }

    /// Takes leave of daemons that have died, and starts others in their place.
    func replaceTheDead() async throws {
        for daemon in daemons where daemon.isDead {
            note("\(daemon.name) is dead")
            apple.with { $0.deaths[daemon.name] = $0.uptime }
            while let actor = stage.waiting.first(where: { $0.daemon == daemon.name }) { await stage.goOn(actor) }
            await daemon.bury()
            daemons.removeAll { $0 === daemon }
            addDaemon()
        }
    }

    // MARK: Time

    func pass(milliseconds: Int64) async throws {
        apple.with { $0.uptime += milliseconds }
        try await setClock(now + milliseconds)
    }

    /// The database's clock is set to another time, and no time passes.
    func stepClock(by milliseconds: Int64) async throws {
        note("the clock is set \(milliseconds < 0 ? "back" : "forth") by \(abs(milliseconds)) ms")
        clockSteps.append((apple.with { $0.uptime }, milliseconds))
        try await setClock(now + milliseconds)
    }

    private func setClock(_ time: Int64) async throws {
        try await clock.set(time)
        apple.with { $0.now = time }
    }
}

/// The numbers behind a daemon's waits, the same for the same seed.
private final class Jitter: Sendable {
    private let random: Mutex<SeededRandom>

    init(seed: UInt64) { random = Mutex(SeededRandom(seed: seed)) }

    func next() -> Double { random.withLock { Double.random(in: 0...1, using: &$0) } }
}

import APITypes
import ActivityModel
import Cryptography
import JSON
import Postgres
import Synchronization
import TestSupport

@testable import Orchestrator

/// One run of the simulation: daemons on one database, Apple, phones, and a backend that posts.
final class Universe {
    /// What a backend was promised with a 202.
    struct Accepted: Sendable {
        let revision: Revision
        let score: Int64
        let kind: ChangeKind
        let alert: String?
        let mustDeliver: Bool
    }

    /// An activity as the backend knows it.
    struct Match: Sendable {
        let id: String
        let delivery: Delivery
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

    let clock: VirtualClock
    /// The connections of all daemons.
    let database: Database
    let apple: Apple
    let stage = Stage()
    let masterKey = SymmetricKey.generate()
    var random: SeededRandom
    var now = VirtualClock.beginning
    var daemons: [Daemon] = []
    var matches: [Match] = []
    var unanswered: [Unanswered] = []
    /// Counts daemons, tasks, posts: names that no two have.
    private var counter = 0

    init(seed: UInt64, clock: VirtualClock, database: Database) {
        random = SeededRandom(seed: seed)
        self.clock = clock
        self.database = database
        apple = Apple(seed: seed ^ 0x5EED, phones: 5)
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
        apple.with { [now] in $0.now = now }
        addDaemon()
        addDaemon()
        let orchestrator = daemons[0].orchestrator
        _ = try await orchestrator.putApp(
            Self.app,
            AppRequest(
                teamID: TeamID(stored: "ABCDE12345"),
                environments: [
                    .production: SigningKeyRequest(
                        keyID: KeyID(stored: "KEY1234567"),
                        privateKey: P256PrivateKey.generate().pem()
                    )
                ]
            )
        )
        var policy = Policy()
        policy.startRetrySeconds = 20
        let state = """
            {"type":"object","required":["score","match"],
             "properties":{"score":{"type":"integer"},"match":{"type":"string"}}}
            """
        _ = try await orchestrator.putType(
            Self.app,
            Self.game,
            TypeRequest(
                source: .schemas(
                    attributes: try JSONValue.parse(Array(#"{"type":"object"}"#.utf8)),
                    contentState: try JSONValue.parse(Array(state.utf8))
                ),
                policy: policy
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
        daemons.append(
            Daemon(
                name: name,
                database: database,
                masterKey: masterKey,
                apple: apple,
                stage: stage,
                settings: OrchestratorSettings(jitter: { jitter.next() })
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
            while let actor = stage.waiting.first(where: { $0.daemon == daemon.name }) { await stage.goOn(actor) }
            await daemon.bury()
            daemons.removeAll { $0 === daemon }
            addDaemon()
        }
    }

    // MARK: Time

    func pass(milliseconds: Int64) async throws {
        now += milliseconds
        try await clock.set(now)
        apple.with { [now] in $0.now = now }
    }
}

/// The numbers behind a daemon's waits, the same for the same seed.
private final class Jitter: Sendable {
    private let random: Mutex<SeededRandom>

    init(seed: UInt64) { random = Mutex(SeededRandom(seed: seed)) }

    func next() -> Double { random.withLock { Double.random(in: 0...1, using: &$0) } }
}

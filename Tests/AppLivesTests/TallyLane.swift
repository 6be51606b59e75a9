import ActivityModel
import Cryptography
import Logging
import Orchestrator
import OrchestratorTestSupport
import Postgres
import Schema
import Store
import Synchronization
import TestSupport

/// The parts that lives against Tally share, one after the other: a database, connections that have their plans, and Apple. Each
/// life has its own app and finds empty tables.
final class TallyLane {
    /// The lane frees the space of old rows after so many lives. Then Postgres makes all plans anew.
    private static let livesPerReset = 25

    private let clock: LifeClock
    private let database: Database
    private let databaseClock: VirtualClock
    private let apple: SimulatedApple
    private let masterKeys = MasterKeys(.generate())
    /// All apps have the same, so the connection to Apple stays.
    private let signingKey: String
    private var lives = 0

    private init(_ clock: LifeClock, _ database: Database, _ databaseClock: VirtualClock) async throws {
        self.clock = clock
        self.database = database
        self.databaseClock = databaseClock
        apple = try await SimulatedApple(clock)
        signingKey = try P256PrivateKey.generate().pem()
    }

    static func lend<R>(_ body: (TallyLane) async throws -> R) async throws -> R {
        let migrations = try Schema.migrations.map { try Migration(number: $0.number, name: $0.name, sql: $0.sql) }
        return try await VirtualClock.lend(migrations: migrations, connections: 10) { databaseClock, database in
            let lane = try await TallyLane(LifeClock(), database, databaseClock)
            let result: Result<R, any Error>
            do {
                result = .success(try await body(lane))
            } catch {
                result = .failure(error)
            }
            await lane.apple.shutDown()
            return try result.get()
        }
    }

    /// Lends Tally for one life. `continueAfterHours` is the policy of its activities.
    func withTally(
        for seed: UInt64,
        continueAfterHours: Int?,
        _ body: (RealTally) async throws -> Void
    ) async throws {
        clock.beginLife()
        if lives.isMultiple(of: Self.livesPerReset) {
            try await databaseClock.reset(to: clock.milliseconds)
        } else {
            try await databaseClock.clear(to: clock.milliseconds)
        }
        lives += 1
        let app = BundleID(stored: "com.example.life\(seed)")
        var settings = OrchestratorSettings()
        settings.receiptSampling = Life.receiptSampling
        settings.jitter = { 0.5 }
        settings.uptime = { [clock] in clock.uptime }
        let orchestrator = Orchestrator(
            database: database,
            sender: apple.client,
            masterKeys: masterKeys,
            settings: settings,
            logger: Logger(label: "lives") { _ in SwiftLogNoOpLogHandler() }
        )
        let world = World(orchestrator: orchestrator, app: app)
        var policy = Policy()
        policy.revisionProperty = "score"
        policy.continueAfterHours = continueAfterHours
        try await world.prepare(policy, key: signingKey)
        let phones = SimulatedPhones(at: apple.simulation, clock, of: app, named: "life\(lives)")
        try await world.withIntake { try await body(RealTally(world, phones, clock, databaseClock)) }
    }
}

/// The time of the lives of one lane, for everything but the phones' own clocks. Only a life moves it, and never back.
final class LifeClock: Sendable {
    private struct State {
        /// When the life began, in seconds since 1970.
        var beginning: Int64 = 1_772_384_400
        /// Since then.
        var seconds = 0.0
    }

    private static let pause: Int64 = 86_400

    private let began = ContinuousClock.now
    private let first = State().beginning
    private let state = Mutex(State())

    /// Another life begins, a day after the end of the one before.
    func beginLife() {
        state.withLock { state in
            state.beginning += Int64(state.seconds.rounded(.up)) + Self.pause
            state.seconds = 0
        }
    }

    /// Since the beginning of the life.
    var seconds: Double {
        get { state.withLock { $0.seconds } }
        set { state.withLock { $0.seconds = newValue } }
    }
    /// Since 1970.
    var milliseconds: Int64 { state.withLock { $0.beginning * 1000 + Int64(($0.seconds * 1000).rounded()) } }
    /// Since the beginning of the first life.
    var uptime: Duration { .milliseconds(milliseconds - first * 1000) }
    var now: ContinuousClock.Instant { began + uptime }

    /// Converts ``milliseconds`` to seconds of the life.
    func seconds(at milliseconds: Int64) -> Double {
        Double(milliseconds - state.withLock { $0.beginning } * 1000) / 1000
    }
}

import Cryptography
import DeliveryStore
import Intake
import Logging
import Postgres
import Synchronization
import TestSupport

@testable import Orchestrator
@testable import Store

/// One run of `tallyd`, from its start to its death. Its connections are those of all daemons: what was open on one
/// when its daemon died is rolled back, as the server does where a connection breaks.
final class Daemon: Sendable {
    let name: String
    let orchestrator: Orchestrator
    private let life: Life
    private let intake: Task<Void, Never>

    /// A daemon that begins to accept, on connections in whose sessions the simulation's clock holds.
    init(
        name: String,
        database: Database,
        masterKey: SymmetricKey,
        apple: Apple,
        stage: Stage,
        clock: VirtualClock,
        settings: OrchestratorSettings
    ) {
        let life = Life()
        let gate = StatementGate { (moment) async throws(PostgresError) in
            if moment == .betweenTransactions { await stage.wait() }
            guard life.isAlive(at: moment) else { throw PostgresError(.connectionLost, message: "the daemon is dead") }
            if moment == .inTransaction, Stage.isInOrder { try await Hindrance.come(over: apple, clock) }
            guard stage.takesStep() else { throw PostgresError(.connectionLost, message: "the turn is endless") }
        }
        let silence = Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }
        self.name = name
        self.life = life
        orchestrator = Orchestrator(
            database: Database(database, behind: gate),
            sender: Line(apple: apple, daemon: name, isUp: { life.isOver == false }),
            masterKeys: MasterKeys(masterKey),
            settings: settings,
            logger: silence
        )
        orchestrator.deliveryStore.wakeUps.open(room: 4)
        intake = Task { [orchestrator] in await orchestrator.intake.duty.run() }
    }

    var isDead: Bool { life.isOver }

    /// Whether it will die.
    var isDoomed: Bool { life.isCounted }

    /// Dies at once: nothing of it reaches the database or Apple any more.
    func kill() { life.end() }

    /// Dies when it has passed so many more moments of a transaction, wherever that is.
    func kill(afterMoments count: Int) { life.endSoon(count) }

    /// Lets go of what belongs to the process. What it was at must have ended.
    func bury() async {
        life.end()
        intake.cancel()
        await intake.value
    }
}

/// Whether a daemon is alive.
private final class Life: Sendable {
    /// How many more moments it lives; nil: for ever.
    private let rest = Mutex<Int?>(nil)

    var isOver: Bool { rest.withLock { $0 == 0 } }

    var isCounted: Bool { rest.withLock { $0 != nil } }

    func end() { rest.withLock { $0 = 0 } }

    func endSoon(_ count: Int) {
        rest.withLock { rest in
            if rest == nil { rest = count }
        }
    }

    func isAlive(at moment: StatementGate.Moment) -> Bool {
        rest.withLock { rest in
            guard let moments = rest else { return true }
            rest = max(moments - 1, 0)
            return moments > 0
        }
    }
}

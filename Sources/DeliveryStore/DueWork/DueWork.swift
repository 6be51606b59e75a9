import Logging
import Postgres
import ServiceLifecycle
import Store
import Synchronization

/// Asks the database in one statement which kinds of work are due, and tells the services that do the work. So a daemon
/// at rest asks little.
///
/// "Due" is no claim: the service looks for work of its own, and may find that another daemon was faster. ``WakeUps``
/// tells at once of accepted changes. A lost signal costs one pause.
package final class DueWork: Service, CustomStringConvertible {
    /// The findings of one look.
    struct Look: Sendable, Equatable {
        /// What is due now.
        var due: Set<WorkKind> = []
        /// How long until the next urgent work is due, if the database knows of any.
        var next: Duration?
    }

    private typealias Signal = (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation)

    private let database: Database
    private let settings: OrchestratorSettings
    private let logger: Logger
    private let signals: [WorkKind: Signal]
    private let latest = Mutex(Look())

    /// - Parameters:
    ///   - database: What is asked.
    ///   - settings: How often it is asked.
    ///   - logger: Takes what fails.
    init(database: Database, settings: OrchestratorSettings, logger: Logger) {
        self.database = database
        self.settings = settings
        self.logger = logger
        signals = Dictionary(
            uniqueKeysWithValues: WorkKind.allCases.map {
                ($0, AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)))
            }
        )
    }

    package var description: String { "due-work" }

    /// One element for each look that finds such work due. For one consumer.
    package func signals(of kind: WorkKind) -> AsyncStream<Void> {
        signals[kind]?.stream ?? AsyncStream { $0.finish() }
    }

    /// Does such work after each look that finds it due, until the daemon stops.
    ///
    /// A failure is logged as "cannot `what`". The next look leads to another try. For one caller.
    package func each(_ kind: WorkKind, _ what: String, _ work: @escaping @Sendable () async throws -> Void) async {
        await repeating(what, after: signals(of: kind), logger: logger, work)
    }

    /// Whether such work was due at the latest look.
    package func isDue(_ kind: WorkKind) -> Bool { latest.withLock { $0.due.contains(kind) } }

    package func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                var look = Look()
                do {
                    look = try await self.look()
                    self.latest.withLock { $0 = look }
                    for kind in look.due { self.signals[kind]?.continuation.yield() }
                } catch {
                    self.logger.failed("cannot look for work", error)
                }
                try? await Task.sleep(for: Self.pause(after: look, self.settings))  // throws only when cancelled
            }
        }
    }

    /// Longer while nothing urgent is due. Shorter if something will be due sooner, but then half an interval at least: with many
    /// activities there is always something.
    static func pause(after look: Look, _ settings: OrchestratorSettings) -> Duration {
        let isBusy = look.due.contains(where: \.isUrgent)
        let longest = isBusy ? settings.pollInterval : settings.pollIntervalAtRest
        return min(longest, max(look.next ?? longest, settings.pollInterval / 2))
    }

    /// Asks once. Each part reads the first entry of an index.
    func look() async throws(PostgresError) -> Look {
        var look = Look()
        for (name, time) in try await database.query(Self.question).decoded(as: (String, Duration?).self) {
            guard let kind = WorkKind(rawValue: name), let time else { continue }
            if time <= .zero {
                look.due.insert(kind)
            } else if kind.isUrgent {
                look.next = min(look.next ?? time, time)
            }
        }
        return look
    }

    private static let question = Query(
        unescaped: """
            SELECT kind, CASE WHEN due_at IS NOT NULL THEN least(due_at, now() + interval '1 hour') - now() END FROM (VALUES
            \(WorkKind.allCases.map { "('\($0.rawValue)', (\($0.earliest)))" }.joined(separator: ",\n"))
            ) AS work(kind, due_at)
            """
    )
}

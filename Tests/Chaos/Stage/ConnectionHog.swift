import Logging
import Postgres
import Synchronization
import SystemSupport
import TestSupport

/// Somebody who takes every connection that a database server has to give.
struct ConnectionHog: Sendable {
    private static let name = "hog"

    /// Takes them all, ends the others' and takes those, for so long.
    ///
    /// - Throws: ``Failure`` if somebody else could still connect at the end.
    static func take(_ count: Int, of url: String, for duration: Duration) async throws {
        var configuration = Database.Configuration()
        configuration.maximumConnections = count
        configuration.acquireTimeout = duration
        configuration.applicationName = name
        let database = try Database(url: url, configuration: configuration, logger: silence)
        let result: Result<Void, any Error>
        do {
            result = .success(try await hold(count, of: database, for: duration))
        } catch {
            result = .failure(error)
        }
        await database.shutDown()
        try result.get()
    }

    private static func hold(_ count: Int, of database: Database, for duration: Duration) async throws {
        let deadline = ContinuousClock.now + duration
        let held = Held()
        await withTaskGroup(of: Void.self) { group in
            for _ in 1..<count {
                group.addTask {
                    // Whoever gets none within the time has been kept from it by those who have one.
                    try? await database.withConnection { _ in
                        held.count.add(1, ordering: .relaxed)
                        await pause(deadline - .now)
                    }
                }
            }
            while ContinuousClock.now < deadline {
                // Where somebody else has the last one, it is tried again.
                _ = try? await database.query(
                    """
                    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                    WHERE backend_type = 'client backend' AND application_name <> \(name)
                    """
                )
                await pause(.milliseconds(100))
            }
        }
        let ours = held.count.load(ordering: .relaxed)
        // Somebody may just have been quicker.
        guard ours >= count - 2 else { throw Failure("the hog has had \(ours) connections of \(count)") }
    }

    /// How many connections were had for the rest of the time.
    private final class Held: Sendable {
        let count = Atomic<Int>(0)
    }

    private static let silence = Logger(label: "hog") { _ in SwiftLogNoOpLogHandler() }
}

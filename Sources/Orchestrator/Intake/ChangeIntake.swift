import APITypes
import Logging
import Postgres
import ServiceLifecycle
import Synchronization

/// Accepts updates and ends in groups: what arrives while one group is being committed makes up the next.
///
/// So the price of a durable commit is shared, and every caller is answered after the commit that holds its change.
final class ChangeIntake: Service, CustomStringConvertible {
    private struct Waiting: Sendable {
        let command: ChangeCommand
        let continuation: CheckedContinuation<Result<ChangeAnswer, any Error>, Never>
    }

    private struct Queue {
        var waiting: [Waiting] = []
        var isClosed = false
    }

    /// The most changes in one transaction.
    private static let groupSize = 500

    private let database: Database
    private let wakeUps: WakeUps
    private let skews: ClockSkewWatch
    private let logger: Logger
    private let queue = Mutex(Queue())
    private let arrivals: AsyncStream<Void>
    private let arrived: AsyncStream<Void>.Continuation

    init(database: Database, wakeUps: WakeUps, skews: ClockSkewWatch, logger: Logger) {
        self.database = database
        self.wakeUps = wakeUps
        self.skews = skews
        self.logger = logger
        (arrivals, arrived) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    var description: String { "change-intake" }

    /// Accepts one change; returns after the commit.
    ///
    /// - Throws: `Problem` for what the activity's state forbids, and 503 while the daemon is stopping.
    func accept(_ command: ChangeCommand) async throws -> ChangeAnswer {
        let result = await withCheckedContinuation { continuation in
            let isQueued = queue.withLock { queue in
                guard !queue.isClosed else { return false }
                queue.waiting.append(Waiting(command: command, continuation: continuation))
                return true
            }
            if isQueued {
                arrived.yield()
            } else {
                continuation.resume(returning: .failure(Problem.unavailable("The daemon is stopping.")))
            }
        }
        return try result.get()
    }

    func run() async {
        for await _ in arrivals.cancelOnGracefulShutdown() {
            await acceptWaiting()
        }
        queue.withLock { $0.isClosed = true }
        await acceptWaiting()
    }

    private func acceptWaiting() async {
        while true {
            let group = queue.withLock { queue in
                let group = Array(queue.waiting.prefix(Self.groupSize))
                queue.waiting.removeFirst(group.count)
                return group
            }
            guard !group.isEmpty else { return }
            let results = await commit(group.map(\.command))
            for (waiting, result) in zip(group, results) {
                waiting.continuation.resume(returning: result)
            }
            wakeUps.signal()
        }
    }

    private func commit(_ commands: [ChangeCommand]) async -> [Result<ChangeAnswer, any Error>] {
        do {
            return try await transact(commands)
        } catch let error as PostgresError where error.code == .server && commands.count > 1 {
            // The server refuses one of them, and does not say which: each on its own, so that the others are accepted.
            var results: [Result<ChangeAnswer, any Error>] = []
            for command in commands {
                results += await commit([command])
            }
            return results
        } catch {
            logger.error("changes were not accepted", metadata: ["error": "\(error)", "count": "\(commands.count)"])
            return commands.map { _ in .failure(error) }
        }
    }

    private func transact(_ commands: [ChangeCommand]) async throws -> [Result<ChangeAnswer, any Error>] {
        try await database.withTransaction { connection in
            try await ChangeGroup.accept(commands, skews: skews, on: connection)
        }
    }
}

import APNSTransport
import ActivityModel
import Logging
import Postgres
import ServiceLifecycle

/// Sends the ordinary pushes that were accepted, until APNs has taken or refused each or its deadline has passed.
///
/// A row is taken by moving its `due_at` on by a lease, so that another daemon tries if this one dies. A push whose
/// answer was lost is tried again: it may arrive twice, which a `collapse_id` makes one.
struct PushQueue: Service, CustomStringConvertible {
    let orchestrator: Orchestrator

    private static let batchSize = 200
    /// The outcome must be stored before another daemon takes the push for abandoned.
    private static let margin = Duration.seconds(5)

    var description: String { "push-queue" }

    func run() async {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                do {
                    while try await sendDue() {}
                } catch {
                    orchestrator.logger.warning("cannot send pushes", metadata: ["error": "\(error)"])
                }
                try? await Task.sleep(for: orchestrator.settings.pollInterval)  // throws only when cancelled
            }
        }
    }

    /// - Returns: Whether there may be more.
    func sendDue() async throws -> Bool {
        let lease = orchestrator.settings.pushDeadline + Self.margin
        let pushes = try await QueuedPush.claim(Self.batchSize, for: lease, from: orchestrator.database)
        guard !pushes.isEmpty else { return false }
        let outcomes = await withTaskGroup(of: PushSettlement.Result.self) { group in
            for push in pushes {
                group.addTask { await send(push) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let settlement = PushSettlement(results: outcomes, backoff: orchestrator.settings.backoff)
        let database = orchestrator.database
        // In a task of its own: what was answered is true when the daemon stops, too, and would be sent twice.
        try await Task {
            _ = try await database.withTransaction { try await $0.pipeline(settlement.statements) }
        }.value
        return pushes.count == Self.batchSize
    }

    private func send(_ push: QueuedPush) async -> PushSettlement.Result {
        if push.isOver { return PushSettlement.Result(push: push, outcome: nil) }
        do {
            let batch = PushBatch(
                environment: push.environment,
                identity: try await orchestrator.signing.identity(of: push.app, push.environment),
                headers: push.headers,
                body: push.body,
                tokens: TokenBuffer([push.token]),
                deadline: orchestrator.settings.pushDeadline
            )
            let answer = await orchestrator.send(batch, to: [push.deviceKey])
            let outcome = answer.exceptions.first?.outcome ?? PushOutcome(.accepted, status: 200)
            orchestrator.logger.debug(
                "push answered",
                metadata: [
                    "push.id": "\(push.id)", "apns.id": "\(push.apnsID.rawValue)", "apns.outcome": "\(outcome.words)",
                ]
            )
            return PushSettlement.Result(push: push, outcome: outcome)
        } catch {
            orchestrator.logger.warning(
                "a push waits",
                metadata: ["push.id": "\(push.id)", "error": "\(error)"]
            )
            return PushSettlement.Result(push: push, outcome: PushOutcome(.notSent))
        }
    }
}

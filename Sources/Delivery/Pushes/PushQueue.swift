import APNSTransport
import ActivityModel
import DeliveryStore
import Logging
import Postgres
import ServiceLifecycle
import Store

/// Sends the ordinary pushes that were accepted, until APNs has taken or refused each or its deadline has passed.
///
/// A row is taken by moving its `due_at` on by a lease, so that another daemon tries if this one dies. A push whose
/// answer was lost is tried again: it may arrive twice, which a `collapse_id` makes one. Each environment has a lane
/// of its own, where several batches are on their way (``PushLane``). So what cannot be reached holds up nothing else.
struct PushQueue: Service, CustomStringConvertible {
    let room: DeliveryRoom
    /// How long a batch may keep its place from others.
    var patience = Duration.seconds(1)

    private static let batchSize = 100

    var description: String { "push-queue" }

    func run() async {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                for environment in APNSEnvironment.allCases {
                    group.addTask { await run(in: environment) }
                }
            }
        }
    }

    private func run(in environment: APNSEnvironment) async {
        let lane = PushLane()
        await withDiscardingTaskGroup { group in
            group.addTask {
                for await _ in room.dueWork.signals(of: .pushes(environment)) { lane.look() }
            }
            for await _ in lane.looks {
                var mayBeMore = true
                while mayBeMore, !lane.isFull, !Task.isCancelled {
                    mayBeMore = false
                    do {
                        let pushes = try await claim(in: environment, except: lane.silentApps)
                        mayBeMore = pushes.count == Self.batchSize
                        guard !pushes.isEmpty else { continue }
                        let number = lane.begin(pushes.map(\.app))
                        group.addTask { await sendInLane(pushes, as: number, of: lane) }
                    } catch {
                        room.logger.failed("cannot take pushes", error)
                    }
                }
            }
            group.cancelAll()
        }
    }

    /// Takes what is due, up to one batch, and nothing of `silentApps`. Nothing at all if this daemon can sign nothing.
    func claim(in environment: APNSEnvironment, except silentApps: [BundleID] = []) async throws -> [QueuedPush] {
        guard !room.store.masterKeyWatch.cannotSend else { return [] }
        return try await QueuedPush.claim(
            Self.batchSize,
            in: environment,
            except: silentApps,
            for: QueuedPush.lease(room.settings),
            from: room.database
        )
    }

    /// Sends a batch. After ``patience`` it gives its place to another one.
    private func sendInLane(_ pushes: [QueuedPush], as number: Int, of lane: PushLane) async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                try? await Task.sleep(for: patience)  // throws only when cancelled
                if !Task.isCancelled { lane.isLate(number) }
            }
            await sendLogging(pushes)
            group.cancelAll()
        }
        lane.end(number)
    }

    private func sendLogging(_ pushes: [QueuedPush]) async {
        do {
            try await sendBatch(pushes)
        } catch {
            // They are sent when the lease is over.
            room.logger.warning("cannot store what came of pushes", metadata: ["error": "\(error)"])
        }
    }

    /// Sends the pushes of a batch that may leave, and stores their outcomes app by app.
    func sendBatch(_ pushes: [QueuedPush]) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (scope, pushes) in Dictionary(grouping: pushes, by: \.scope) {
                group.addTask {
                    try await sendAll(pushes.filter { $0.halt == nil || $0.lateRefusal != nil })
                    let halted = pushes.filter { $0.halt != nil && $0.lateRefusal == nil }
                    if !halted.isEmpty { try await probe(scope, halted) }
                }
            }
            // One that fails is no reason to cancel the others, whose pushes have left.
            var failure: (any Error)?
            while let result = await group.nextResult() {
                if case .failure(let error) = result { failure = error }
            }
            if let failure { throw failure }
        }
    }

    /// If sending is halted and its next probe is due, a few pushes leave as the probe, because an app may send no
    /// others. They go to different tokens: else one bad token might be all that the probe meets.
    private func probe(_ scope: HaltScope, _ pushes: [QueuedPush]) async throws {
        guard let halt = pushes.first?.halt, try await room.halts.takeProbe(scope, halt) else { return }
        do {
            var tokens: Set<PushToken> = []
            let different = pushes.filter { tokens.insert($0.token).inserted }
            try await sendAll(Array(different.prefix(SendingHalt.probeSize)))
        } catch {
            _ = try await room.halts.endProbe(scope, halt)
            throw error
        }
        _ = try await room.halts.endProbe(scope, halt)
    }

    private func sendAll(_ pushes: [QueuedPush]) async throws {
        guard !pushes.isEmpty else { return }
        let outcomes = await withTaskGroup(of: PushSettlement.Result.self) { group in
            for push in pushes {
                group.addTask { await sendOne(push) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let settlement = PushSettlement(results: outcomes, backoff: room.settings.backoff)
        try await room.settle(settlement.statements)
    }

    private func sendOne(_ push: QueuedPush) async -> PushSettlement.Result {
        if push.lateRefusal != nil { return PushSettlement.Result(push: push, outcome: nil) }
        do {
            let identity = try await room.signing.identity(of: push.app, push.environment)
            let answer = await room.send(
                Pass(push, identity),
                to: .tokens(TokenBuffer([push.token]), devices: [push.destinationKey]),
                slot: nil
            )
            let outcome = answer.single
            room.logger.debug(
                "push answered",
                metadata: [
                    "push.id": "\(push.id)", "apns.id": "\(push.apnsID.rawValue)", "apns.outcome": "\(outcome.words)",
                ]
            )
            return PushSettlement.Result(push: push, outcome: outcome)
        } catch {
            room.logger.warning(
                "a push waits",
                metadata: ["push.id": "\(push.id)", "error": "\(error)"]
            )
            return PushSettlement.Result(push: push, outcome: PushOutcome(.notSent))
        }
    }
}

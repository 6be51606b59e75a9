package import APITypes
package import ActivityModel
import Logging

/// One operation of a batch, with what its idempotency key means.
package struct KeyedOperation: Sendable {
    package let operation: BatchOperation
    package let idempotency: IdempotencyKey?

    package init(_ operation: BatchOperation, idempotency: IdempotencyKey?) {
        self.operation = operation
        self.idempotency = idempotency
    }
}

/// The answer to one operation of a batch.
package enum OperationAnswer: Sendable {
    case start(StartAnswer, replay: Bool)
    case change(ChangeAnswer)
    case device(DeviceResource)
    case subscription(SubscriptionAnswer)
}

extension Orchestrator {
    package typealias OperationResult = Result<OperationAnswer, any Error>

    /// How many starts and devices of a wave are at the database at the same time; the rest of its connections is for others.
    private static let concurrentOperations = 4

    /// Carries out operations as their own routes do, each judged on its own. Those that concern one activity or one device
    /// keep their order; the others share group commits.
    ///
    /// - Returns: One result for each, as the operation of its own returns or throws it.
    package func batch(_ app: BundleID, _ operations: [KeyedOperation]) async -> [OperationResult] {
        var results = [OperationResult](repeating: .failure(Problem.internalError()), count: operations.count)
        for wave in BatchWaves(operations.map(\.operation)).waves {
            await withTaskGroup(of: [(place: Int, result: OperationResult)].self) { group in
                group.addTask { await self.changes(app, wave.map { ($0, operations[$0]) }) }
                group.addTask { await self.reports(app, wave.map { ($0, operations[$0]) }) }
                group.addTask { await self.singles(app, wave.map { ($0, operations[$0]) }) }
                for await part in group {
                    for (place, result) in part { results[place] = result }
                }
            }
        }
        return results
    }

    private typealias Placed = (place: Int, operation: KeyedOperation)

    private func changes(_ app: BundleID, _ wave: [Placed]) async -> [(place: Int, result: OperationResult)] {
        let changes = wave.compactMap { place, keyed -> (place: Int, change: RequestedChange)? in
            let (id, body): (ActivityID, RequestedChange.Body)
            switch keyed.operation.work {
            case .update(let activity, let request): (id, body) = (activity, .update(request))
            case .end(let activity, let request): (id, body) = (activity, .end(request))
            case .start, .device, .subscription: return nil
            }
            return (place, RequestedChange(app: app, id: id, body: body, idempotencyKey: keyed.idempotency))
        }
        let answers = await accept(changes.map(\.change))
        return zip(changes, answers).map { ($0.place, $1.map { .change($0) }) }
    }

    private func reports(_ app: BundleID, _ wave: [Placed]) async -> [(place: Int, result: OperationResult)] {
        let reports = wave.compactMap { place, keyed -> (place: Int, report: ReportedCard)? in
            guard case .subscription(let id, let device, let request) = keyed.operation.work else { return nil }
            return (
                place,
                ReportedCard(
                    app: app,
                    activity: id,
                    device: device,
                    request: request,
                    idempotencyKey: keyed.idempotency
                )
            )
        }
        let answers = await accept(reports.map(\.report))
        return zip(reports, answers).map { ($0.place, $1.map { .subscription($0) }) }
    }

    private func singles(_ app: BundleID, _ wave: [Placed]) async -> [(place: Int, result: OperationResult)] {
        await withTaskGroup(of: (place: Int, result: OperationResult)?.self) { group in
            var results: [(place: Int, result: OperationResult)] = []
            for (number, (place, keyed)) in wave.enumerated() {
                if number >= Self.concurrentOperations, let done = await group.next() {
                    results += [done].compactMap { $0 }
                }
                group.addTask { await self.single(app, keyed).map { (place, $0) } }
            }
            for await done in group { results += [done].compactMap { $0 } }
            return results
        }
    }

    /// Nil for what is carried out together with others.
    private func single(_ app: BundleID, _ keyed: KeyedOperation) async -> OperationResult? {
        do {
            switch keyed.operation.work {
            case .start(let id, let request):
                let (answer, replay) = try await start(app, id, request, idempotency: keyed.idempotency)
                return .success(.start(answer, replay: replay))
            case .device(let id, let request):
                return .success(.device(try await putDevice(app, id, request, idempotency: keyed.idempotency)))
            case .update, .end, .subscription: return nil
            }
        } catch {
            if !(error is Problem) { logger.error("an operation of a batch failed", metadata: ["error": "\(error)"]) }
            return .failure(error)
        }
    }
}

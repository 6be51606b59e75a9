package import APITypes
package import ActivityModel
import Registry
package import Store

/// One operation of a batch, with what its idempotency key means.
package struct KeyedOperation: Sendable {
    package let operation: BatchOperation
    package let idempotency: IdempotencyKey.Deferred?

    package init(_ operation: BatchOperation, idempotency: IdempotencyKey.Deferred?) {
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

extension Intake {
    package typealias OperationResult = Result<OperationAnswer, any Error>

    /// Carries out operations as their own routes do, each judged on its own. Those that concern one activity or one
    /// device keep their order; the others share group commits.
    ///
    /// - `waited`: how long the batch has waited for its turn to be read.
    /// - `origin`: the request that brings the operations.
    /// - Returns: One result for each, as the operation of its own returns or throws it.
    package func batch(
        _ app: BundleID,
        _ operations: [KeyedOperation],
        waited: Duration = .zero,
        origin: RequestOrigin?
    ) async -> [OperationResult] {
        var limit = intakeLimit
        limit.unread = waited
        let taken = places(ofThoseTaken: operations, within: limit)
        var results = [OperationResult](repeating: .failure(IntakeLimit.refusal), count: operations.count)
        for wave in BatchWaves(operations.lazy.map(\.operation), at: taken).waves {
            let parts = BatchParts(app, wave, of: operations, origin)
            async let changes = accept(parts.changes, within: limit)
            async let reports = accept(parts.reports)
            async let devices = accept(parts.devices)
            async let starts = accept(parts.starts)
            for (place, answer) in zip(parts.changePlaces, await changes) {
                results[place] = answer.map { .change($0.answer) }
            }
            for (place, answer) in zip(parts.reportPlaces, await reports) {
                results[place] = answer.map { .subscription($0) }
            }
            for (place, answer) in zip(parts.devicePlaces, await devices) {
                results[place] = answer.flatMap { stored in
                    stored.device.map { .success(.device($0)) } ?? .failure(Problem.notFound("the device"))
                }
            }
            for (place, answer) in zip(parts.startPlaces, await starts) {
                results[place] = answer.map { .start($0.answer, replay: $0.isReplay) }
            }
        }
        return results
    }

    /// The places of the operations that there is room for, by the urgency that they declare themselves.
    ///
    /// The others cost no look-up and no sorting. Under overload they are the majority, and the time is needed for ends and
    /// alerts.
    private func places(ofThoseTaken operations: [KeyedOperation], within limit: IntakeLimit) -> [Int] {
        let least = limit.leastWeight(behind: groups.changes.backlog)
        guard least != .routine else { return Array(operations.indices) }
        return operations.indices.filter { place in
            guard let weight = IntakeLimit.Weight(operations[place].operation.work) else { return true }
            return least.map { weight >= $0 } ?? false
        }
    }
}

/// The operations of a wave by how they are carried out, with their places in the batch.
private struct BatchParts: Sendable {
    private(set) var changes: [RequestedChange] = []
    private(set) var changePlaces: [Int] = []
    private(set) var reports: [ReportedCard] = []
    private(set) var reportPlaces: [Int] = []
    private(set) var devices: [ReportedDevice] = []
    private(set) var devicePlaces: [Int] = []
    private(set) var starts: [RequestedStart] = []
    private(set) var startPlaces: [Int] = []

    init(_ app: BundleID, _ wave: [Int], of operations: [KeyedOperation], _ origin: RequestOrigin?) {
        for place in wave {
            let key = operations[place].idempotency
            switch operations[place].operation.work {
            case .update(let id, let request):
                changePlaces.append(place)
                changes.append(
                    RequestedChange(app: app, id: id, body: .update(request), idempotencyKey: key, origin: origin)
                )
            case .end(let id, let request):
                changePlaces.append(place)
                changes.append(
                    RequestedChange(app: app, id: id, body: .end(request), idempotencyKey: key, origin: origin)
                )
            case .subscription(let id, let device, let request):
                reportPlaces.append(place)
                reports.append(
                    ReportedCard(app: app, activity: id, device: device, request: request, idempotencyKey: key?.key)
                )
            case .start(let id, let request):
                startPlaces.append(place)
                starts.append(
                    RequestedStart(app: app, id: id, request: request, idempotencyKey: key?.key, origin: origin)
                )
            case .device(let id, let request):
                devicePlaces.append(place)
                devices.append(
                    ReportedDevice(app: app, id: id, request: request, idempotencyKey: key?.key, wantsDevice: true)
                )
            }
        }
    }
}

import APITypes
import ActivityModel
import Cryptography
import Intake
import JSON
import Registry
import Store

/// Carries out the operations of one caller together, and turns what becomes of them into results.
struct OperationGroup: Sendable {
    let service: any TallyService
    let principal: Principal?
    let app: BundleID
    /// Kept with the changes that the operations make.
    let origin: RequestOrigin

    /// - Returns: One result for each operation, in their order. One that could not be read, or is not permitted, is
    ///   answered with its problem.
    func carryOut(
        _ operations: [Result<KeyedOperation, Problem>],
        _ app: BundleID,
        waited: Duration
    ) async -> [BatchResult] {
        // Operations that fail here get their answers below.
        let answers = await service.intake.batch(
            app,
            operations.compactMap { try? $0.get() },
            waited: waited,
            origin: origin
        )
        var next = answers.makeIterator()
        return operations.map { operation in
            switch operation {
            case .failure(let problem): BatchResult(problem)
            case .success: result(of: next.next() ?? .failure(Problem.internalError()))
            }
        }
    }

    /// An operation that the caller may ask for, with what its idempotency key means.
    ///
    /// - Throws: 403 if the caller's key does not have the operation's scope.
    func permitted(_ operation: BatchOperation) throws(Problem) -> KeyedOperation {
        guard let principal, principal.allows(operation.scope) else { throw .missingScope(operation.scope) }
        let key = operation.idempotencyKey.map { [app] key in
            IdempotencyKey.Deferred(operation.key(key, of: principal, in: app))
        }
        return KeyedOperation(operation, idempotency: key)
    }

    private func result(of result: Intake.OperationResult) -> BatchResult {
        switch result {
        case .success(.start(let answer, let replay)): BatchResult(status: replay ? 200 : 202, body: answer.json)
        case .success(.change(let answer)): BatchResult(status: 202, body: answer.json)
        case .success(.device(let device)): BatchResult(status: 200, body: device.json)
        case .success(.subscription(let answer)): BatchResult(status: 200, body: answer.json)
        case .failure(let problem as Problem): BatchResult(problem)
        case .failure(let error): BatchResult(service.problem(for: error) ?? .internalError())
        }
    }
}

extension OperationGroup {
    /// - Throws: 422 for a path without a valid app.
    init(service: any TallyService, call: RouteCall) throws(Problem) {
        self.init(service: service, principal: call.principal, app: try call.app(), origin: call.origin)
    }
}

extension BatchOperation {
    /// The idempotency key, with the scope that the header `Idempotency-Key` has on the operation's own route.
    ///
    /// The hash is of the parsed body, so white space and the like do not matter. It equals that of a request only if
    /// the request's body has the same bytes. A request with another hash is refused, and takes effect once.
    fileprivate func key(_ key: String, of principal: Principal, in app: BundleID) -> IdempotencyKey {
        let (method, path) = route(in: app)
        return IdempotencyKey(
            apiKeyID: principal.keyID,
            app: app,
            method: method,
            path: path.text,
            key: key,
            bodyHash: SHA256.hash(body.serialized())
        )
    }

    /// Method and path of the operation's own route.
    private func route(in app: BundleID) -> (method: String, path: APIPath) {
        switch work {
        case .start(let id, _): ("PUT", "/v1/apps/\(app)/activities/\(id)")
        case .update(let id, _): ("POST", "/v1/apps/\(app)/activities/\(id)/updates")
        case .end(let id, _): ("POST", "/v1/apps/\(app)/activities/\(id)/end")
        case .device(let id, _): ("PUT", "/v1/apps/\(app)/devices/\(id)")
        case .subscription(let id, let device, _):
            ("PUT", "/v1/apps/\(app)/activities/\(id)/subscriptions/\(device)")
        }
    }
}

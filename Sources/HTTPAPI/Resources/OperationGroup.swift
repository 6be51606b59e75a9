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
    /// Method and path of the request that brings the operations: the scope of their idempotency keys.
    let method: String
    let path: String
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
        // The hash is of the parsed operation, so white space and the like do not matter.
        let key = operation.idempotencyKey.map { [method, path] key in
            IdempotencyKey.Deferred(
                IdempotencyKey(
                    apiKeyID: principal.keyID,
                    method: method,
                    path: path,
                    key: key,
                    bodyHash: SHA256.hash(operation.json.serialized())
                )
            )
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
    init(service: any TallyService, call: RouteCall) {
        self.init(
            service: service,
            principal: call.principal,
            method: call.method,
            path: call.path,
            origin: call.origin
        )
    }
}

import APITypes
import ActivityModel
import Cryptography
import HTTPTypes
import JSON
import Orchestrator
import Store

extension Route {
    /// `…/batch`: many operations, each answered like a request to its equivalent route.
    static func batch(_ service: any TallyService, _ limits: RateLimits, _ turns: ReadingTurns) -> [Route] {
        [
            Route(.post, "/v1/apps/{bundle_id}/batch", .anyScope([.publish, .register]), body: true) { call in
                let app = try call.app()
                let read = { () throws(Problem) in try call.request(BatchRequest.self) }
                let (request, waited) = call.isLarge ? try await turns.take(read) : (try read(), .zero)
                // The request itself is already counted as one operation.
                if let caller = call.principal { limits.charge(caller, request.operations.count - 1) }
                return .ok(try await Batch(service: service, call: call).carryOut(request, app, waited: waited))
            }
        ]
    }
}

/// Carries out the operations of one batch and collects the results.
private struct Batch {
    let service: any TallyService
    let call: RouteCall

    func carryOut(_ request: BatchRequest, _ app: BundleID, waited: Duration) async throws -> BatchAnswer {
        let operations = request.operations.map { operation in
            operation.flatMap { operation in Result { () throws(Problem) in try permitted(operation) } }
        }
        // Operations that fail here get their answers below.
        let answers = await service.batch(app, operations.compactMap { try? $0.get() }, waited: waited)
        var next = answers.makeIterator()
        return BatchAnswer(
            results: operations.map { operation in
                switch operation {
                case .failure(let problem): BatchResult(problem)
                case .success: result(of: next.next() ?? .failure(Problem.internalError()))
                }
            }
        )
    }

    /// - Throws: 403 if the caller's key does not have the operation's scope.
    private func permitted(_ operation: BatchOperation) throws(Problem) -> KeyedOperation {
        guard let principal = call.principal, principal.allows(operation.scope) else {
            throw .missingScope(operation.scope)
        }
        // The hash is of the parsed operation, so white space and the like do not matter.
        let key = operation.idempotencyKey.map { [method = call.method, path = call.path] key in
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

    private func result(of result: Orchestrator.OperationResult) -> BatchResult {
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

import APITypes
import HTTPTypes

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
                let group = try OperationGroup(service: service, call: call)
                let operations = request.operations.map { operation in
                    operation.flatMap { operation in
                        Result { () throws(Problem) in try group.permitted(operation) }
                    }
                }
                let results = await group.carryOut(operations, app, waited: waited)
                return .ok(BatchAnswer(results: results))
            }
        ]
    }
}

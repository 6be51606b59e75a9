import APITypes
import HTTPTypes

extension Route {
    /// `…/ingest`: a stream of operations, one a line, with an answer a line.
    static func ingest(_ service: any TallyService, _ limits: RateLimits, _ turns: ReadingTurns) -> [Route] {
        [
            Route(.post, "/v1/apps/{bundle_id}/ingest", .anyScope([.publish, .register]), lines: true) { call in
                guard let principal = call.principal, let incoming = call.streaming.incoming else {
                    throw Problem.unauthorized()
                }
                let stream = IngestStream(
                    app: try call.app(),
                    group: try OperationGroup(service: service, call: call),
                    principal: principal,
                    terms: call.streaming,
                    incoming: incoming,
                    limits: limits,
                    turns: turns
                )
                // Without `no`, nginx buffers answers until its buffer is full.
                return RouteAnswer(
                    streaming: [.contentType: BodyLimit.lines, .cacheControl: "no-store", .accelBuffering: "no"]
                ) { writer in
                    try await stream.answer(to: writer)
                }
            }
        ]
    }
}

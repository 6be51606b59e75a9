import Orchestrator
import HTTPTypes
import Hummingbird
import Logging

/// Gives every request an id, for its log lines and for the answer's `X-Request-Id`.
///
/// A caller's own id is taken over where it is harmless text, so that one id names the request on both sides.
struct RequestIDMiddleware: RouterMiddleware {
    typealias Context = RouteContext

    func handle(
        _ request: Request,
        context: RouteContext,
        next: @concurrent (Request, RouteContext) async throws -> Response
    ) async throws -> Response {
        var context = context
        let id = request.headers[.requestID].flatMap(Self.harmless) ?? RequestID().description
        context.requestID = id
        context.logger[metadataKey: LogKey.requestID] = .string(id)
        if let trace = request.headers[.traceParent].flatMap({ TraceParent($0) }) {
            context.trace = trace
            context.logger[metadataKey: LogKey.traceID] = .string(trace.traceID)
            context.logger[metadataKey: LogKey.spanID] = .string(trace.spanID)
        }
        var response = try await next(request, context)
        response.headers[.requestID] = id
        return response
    }

    private static func harmless(_ text: String) -> String? {
        let allowed = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        return allowed && (1...64).contains(text.utf8.count) ? text : nil
    }
}

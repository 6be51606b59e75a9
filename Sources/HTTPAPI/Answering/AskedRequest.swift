import Hummingbird
import Logging
import Orchestrator

/// A request with what is read from its head.
///
/// A class, because every step looks at it, and each of its many parts would be counted whenever it is handed on.
final class AskedRequest: Sendable {
    let request: Request
    /// The path as it was sent.
    let path: String
    let fields: RequestFields
    /// Names the request in the log and in the answer's `X-Request-Id`. A caller's own id is taken over where it is
    /// harmless text, so that one id names the request on both sides.
    let id: String
    /// The trace that the caller says it belongs to.
    let trace: TraceParent?
    /// Tells a caller that waits for it to send the body; nil if there is no connection.
    let proceed: (@Sendable () async throws -> Void)?
    /// Ends the connection at once; nil if there is none.
    let hangUp: (@Sendable () -> Void)?

    init(
        _ request: Request,
        proceed: (@Sendable () async throws -> Void)?,
        hangUp: (@Sendable () -> Void)?
    ) {
        self.request = request
        self.proceed = proceed
        self.hangUp = hangUp
        path = request.uri.path
        fields = RequestFields(request.headers)
        id = fields.requestID.flatMap(Self.harmless) ?? RequestID().description
        trace = fields.traceParent.flatMap { TraceParent($0) }
    }

    /// A logger whose lines name the request.
    func logger(_ base: Logger) -> Logger {
        var logger = base
        logger[metadataKey: LogKey.requestID] = .string(id)
        if let trace {
            logger[metadataKey: LogKey.traceID] = .string(trace.traceID)
            logger[metadataKey: LogKey.spanID] = .string(trace.spanID)
        }
        return logger
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

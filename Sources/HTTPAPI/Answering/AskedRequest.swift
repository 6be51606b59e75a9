import HTTP1Server
import HTTPTypes
import Logging
import Store

/// A request with the values read from its head.
///
/// A class, because each step gets it, and copying a struct would retain each of its many fields.
final class AskedRequest: Sendable {
    let call: HTTPCall
    let fields: RequestFields
    /// Identifies the request in the log and in the answer's `X-Request-Id`. If the caller's own id is harmless text,
    /// Tally uses it, so that both sides know the request by one id.
    let id: String
    /// The trace that the caller gave.
    let trace: TraceParent?

    init(_ call: HTTPCall) {
        self.call = call
        fields = RequestFields(call.head.headerFields)
        id = fields.requestID.flatMap(Self.harmless) ?? Self.freshID()
        trace = fields.traceParent.flatMap { TraceParent($0) }
    }

    /// A logger that adds the request's id and trace to each line.
    func logger(_ base: Logger) -> Logger {
        var logger = base
        logger[metadataKey: LogKey.requestID] = .string(id)
        if let trace {
            logger[metadataKey: LogKey.traceID] = .string(trace.traceID)
            logger[metadataKey: LogKey.spanID] = .string(trace.spanID)
        }
        return logger
    }

    /// A random UUID. To make one by Foundation opens a file of the kernel, which takes longer than all else here.
    private static func freshID() -> String {
        var generator = SystemRandomNumberGenerator()
        let (first, second): (UInt64, UInt64) = (generator.next(), generator.next())
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for digit in 0..<32 {
            if (8...20).contains(digit), digit.isMultiple(of: 4) { text.append(UInt8(ascii: "-")) }
            let random = UInt8(truncatingIfNeeded: (digit < 16 ? first : second) >> (4 * (digit % 16))) & 0xf
            // RFC 9562: the version is 4, and the variant begins with the bits 10.
            let value = digit == 12 ? 4 : digit == 16 ? random & 0x3 | 0x8 : random
            text.append(value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10)
        }
        return String(decoding: text, as: UTF8.self)
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

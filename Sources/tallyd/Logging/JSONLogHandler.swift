import APITypes
import FoundationEssentials
import Glibc
import JSON
import Logging

/// What log lines look like.
enum LogFormat: String, Sendable {
    case text, json
}

/// Writes log lines as JSON objects, one per line, to standard error.
struct JSONLogHandler: LogHandler {
    let label: String
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var line = Self.line(
            label: label,
            level: event.level,
            message: "\(event.message)",
            metadata: metadata.merging(event.metadata ?? [:]) { $1 },
            at: Self.now()
        )
        line.append(UInt8(ascii: "\n"))
        // One write, so that lines of other threads stay whole; a reader that is gone is no reason to stop.
        _ = line.withUnsafeBytes { unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    /// `time`, `level`, `logger` and `message`, then the metadata under its own names.
    static func line(
        label: String,
        level: Logger.Level,
        message: String,
        metadata: Logger.Metadata,
        at time: String
    ) -> [UInt8] {
        var object: JSONObject = [
            "time": .string(time), "level": .string(level.rawValue), "logger": .string(label),
            "message": .string(message),
        ]
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) where object[key] == nil {
            object[key] = .string("\(value)")
        }
        return JSONValue.object(object).serialized()
    }

    private static func now() -> String {
        Instant(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000)).description
    }
}

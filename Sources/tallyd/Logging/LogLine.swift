import APITypes
import FoundationEssentials
import Glibc
import JSON
import Logging

/// One line of the log. Foreign text in it is escaped, so that it stays one line and cannot control a terminal.
struct LogLine {
    let time: Instant
    let level: Logger.Level
    let label: String
    let message: String
    let metadata: Logger.Metadata

    /// `time level logger: key=value … message`.
    var text: String {
        let pairs = sorted.map { " \($0.key)=\($0.value)" }.joined()
        return "\(time) \(level) \(label):\(pairs) \(message)".printable()
    }

    /// `time`, `level`, `logger` and `message`, then the metadata with its own names.
    var json: String {
        var object: JSONObject = [
            "time": .string(time.description), "level": .string(level.rawValue), "logger": .string(label),
            "message": .string(message),
        ]
        for (key, value) in sorted where object[key] == nil { object[key] = .string("\(value)") }
        return JSONValue.object(object).text.printable()
    }

    private var sorted: [(key: String, value: Logger.Metadata.Value)] { metadata.sorted { $0.key < $1.key } }
}

/// Writes log lines to standard error.
struct LineLogHandler: LogHandler {
    let label: String
    let format: LogFormat
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let line = LogLine(
            time: Instant(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000)),
            level: event.level,
            label: label,
            message: "\(event.message)",
            metadata: metadata.merging(event.metadata ?? [:]) { $1 }
        )
        // A single write keeps lines of different threads apart. A closed pipe is ignored.
        let bytes = Array((format == .json ? line.json : line.text).utf8) + [UInt8(ascii: "\n")]
        _ = bytes.withUnsafeBytes { unsafe Glibc.write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}

/// The format of log lines.
enum LogFormat: String, Sendable, CaseIterable {
    case text, json
}

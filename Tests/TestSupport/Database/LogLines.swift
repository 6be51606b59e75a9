package import Logging
import Synchronization

/// Log lines with their metadata, in order.
package final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])

    package init() {}

    package var all: [String] { lines.withLock { $0 } }

    /// Writes here, whatever the level.
    package var logger: Logger { Logger(label: "test") { _ in LineHandler(lines: self) } }

    fileprivate func append(_ line: String) {
        lines.withLock { $0.append(line) }
    }
}

private struct LineHandler: LogHandler {
    let lines: LogLines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let pairs = all.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
        lines.append("\(event.level) \(event.message) \(pairs)")
    }
}

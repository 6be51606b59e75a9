import APITypes
import HTTP1Server
import JSON
import Synchronization

/// What has arrived of a stream of operations, and is carried out together.
struct LineGroup: Sendable {
    /// The number of the first line. Lines count from 1.
    let first: Int
    /// The operations in their lines; nil: the line is empty.
    var operations: [Result<BatchOperation, Problem>?]
    /// Whether the stream ends here, because of a line that is too long.
    var isLast = false
}

/// Reads a stream of operations group by group: all that has arrived, up to a limit. One caller at a time.
final class LineGroups: Sendable {
    /// How many bytes of lines make a group, and how many more may wait. A longer line is a group of its own.
    private static let mostBytes = 512 << 10
    /// A group with so many bytes takes a turn, because reading it takes as long as several requests.
    private static let manyBytes = 8 << 10

    private struct State {
        var splitter: LineSplitter
        var line = 1
    }

    private let incoming: HTTPCall
    private let mostLines: Int
    private let turns: ReadingTurns
    private let longestLine: Int
    private let state: Mutex<State>
    private let stopped = Atomic(false)

    init(_ incoming: HTTPCall, mostLines: Int, longestLine: Int, turns: ReadingTurns) {
        self.incoming = incoming
        self.mostLines = mostLines
        self.longestLine = longestLine
        self.turns = turns
        state = Mutex(State(splitter: LineSplitter(longest: longestLine)))
    }

    /// Whether no more groups come, although the caller may send more.
    var isStopped: Bool { stopped.load(ordering: .relaxed) }

    /// Ends the stream, also for whoever waits for the next group.
    func stop() {
        stopped.store(true, ordering: .relaxed)
        incoming.stopReading()
    }

    /// Waits for lines.
    ///
    /// - Returns: Nil at the end.
    /// - Throws: An error if the connection broke.
    func next(_ watch: WaitWatch) async throws -> LineGroup? {
        var lines = take()
        while lines.isEmpty {
            watch.beginWaiting()
            let part = try await incoming.bodyPart(keeping: Self.mostBytes)
            watch.endWaiting()
            // What was cut off is no line.
            if isStopped { return nil }
            guard let part else {
                let last = state.withLock { $0.splitter.rest() }
                if last.isEmpty { return nil }
                lines.append(last)
                break
            }
            state.withLock { $0.splitter.append(part) }
            lines = take()
        }
        return await read(lines)
    }

    /// Lines that have arrived. ``LineSplitter/Step/tooLong`` is nil.
    private func take() -> Lines {
        state.withLock { state in
            var lines = Lines()
            while lines.count < mostLines, lines.bytes < Self.mostBytes {
                switch state.splitter.next() {
                case .line(let line): lines.append(line)
                case .incomplete: return lines
                case .tooLong:
                    lines.endsTooLong = true
                    return lines
                }
            }
            return lines
        }
    }

    private func read(_ lines: Lines) async -> LineGroup {
        let first = state.withLock { state in
            defer { state.line += lines.count }
            return state.line
        }
        guard lines.bytes > Self.manyBytes else { return group(of: lines, from: first) }
        return await withTaskExecutorPreference(globalConcurrentExecutor) {
            await turns.wait { group(of: lines, from: first) }
        }
    }

    private func group(of lines: Lines, from first: Int) -> LineGroup {
        var group = LineGroup(first: first, operations: lines.all.map(Self.operation))
        if lines.endsTooLong {
            group.operations.append(.failure(.bodyTooLarge(limit: longestLine, part: "line")))
            group.isLast = true
        }
        return group
    }

    private static func operation(_ line: [UInt8]) -> Result<BatchOperation, Problem>? {
        if line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) { return nil }
        return Result { () throws(Problem) in try BatchOperation(json: try RouteCall.json(line, "line")) }
    }
}

/// Lines that have arrived together.
private struct Lines: Sendable {
    private(set) var all: [[UInt8]] = []
    private(set) var bytes = 0
    /// Whether the line after them is too long.
    var endsTooLong = false

    var count: Int { all.count }
    var isEmpty: Bool { all.isEmpty && !endsTooLong }

    mutating func append(_ line: [UInt8]) {
        all.append(line)
        bytes += line.count
    }
}

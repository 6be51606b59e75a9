import APITypes
import HTTP1Server
import JSON
import Synchronization

/// What has arrived of a stream of lines, and is carried out together.
struct LineGroup<Value: Sendable>: Sendable {
    /// The number of the first line. Lines count from 1.
    let first: Int
    /// What the lines say; nil: the line is empty.
    var values: [Result<Value, Problem>?]
    /// Whether the stream ends here, because of a line that is too long.
    var isLast = false
}

/// How many bytes of lines make a group, and how many more may wait. A longer line is a group of its own.
private let mostBytes = 512 << 10
/// A group with so many bytes takes a turn, because reading it takes as long as several requests.
private let manyBytes = 8 << 10

/// Reads a stream of lines group by group: all that has arrived, up to a limit. One caller at a time.
final class LineGroups<Value: Sendable>: Sendable {
    private struct State {
        var splitter: LineSplitter
        var line = 1
    }

    private let incoming: HTTPCall
    private let mostLines: Int
    private let turns: ReadingTurns
    private let longestLine: Int
    private let parse: @Sendable ([UInt8]) throws(Problem) -> Value
    private let state: Mutex<State>
    private let stopped = Atomic(false)

    /// - Parameters:
    ///   - incoming: the request.
    ///   - mostLines: how many lines make a group.
    ///   - longestLine: the most bytes of a line.
    ///   - turns: limits how many large groups are parsed at the same time.
    ///   - parse: reads what a line says.
    init(
        _ incoming: HTTPCall,
        mostLines: Int,
        longestLine: Int,
        turns: ReadingTurns,
        parse: @escaping @Sendable ([UInt8]) throws(Problem) -> Value
    ) {
        self.incoming = incoming
        self.mostLines = mostLines
        self.longestLine = longestLine
        self.parse = parse
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

    /// Waits for lines. `watch` limits the wait.
    ///
    /// - Returns: Nil at the end.
    /// - Throws: An error if the connection broke.
    func next(_ watch: WaitWatch? = nil) async throws -> LineGroup<Value>? {
        await topUp()
        var lines = take()
        while lines.isEmpty {
            watch?.beginWaiting()
            let part = try await incoming.bodyPart(keeping: mostBytes)
            watch?.endWaiting()
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

    /// Lets what has arrived meanwhile join the rest of the last group. Alone, the rest would often be a small group, which
    /// takes nearly as long as a large one.
    private func topUp() async {
        let rest = state.withLock { $0.splitter.count }
        guard rest > 0, rest < mostBytes / 2 else { return }
        let arrived = await incoming.arrivedBody(keeping: mostBytes)
        state.withLock { $0.splitter.append(arrived) }
    }

    /// Lines that have arrived. ``LineSplitter/Step/tooLong`` is nil.
    private func take() -> Lines {
        state.withLock { state in
            var lines = Lines()
            while lines.count < mostLines, lines.bytes < mostBytes {
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

    private func read(_ lines: Lines) async -> LineGroup<Value> {
        let first = state.withLock { state in
            defer { state.line += lines.count }
            return state.line
        }
        guard lines.bytes > manyBytes else { return group(of: lines, from: first) }
        return await withTaskExecutorPreference(globalConcurrentExecutor) {
            await turns.wait { group(of: lines, from: first) }
        }
    }

    private func group(of lines: Lines, from first: Int) -> LineGroup<Value> {
        var group = LineGroup(first: first, values: lines.all.map { value(of: $0) })
        if lines.endsTooLong {
            group.values.append(.failure(.bodyTooLarge(limit: longestLine, part: "line")))
            group.isLast = true
        }
        return group
    }

    private func value(of line: [UInt8]) -> Result<Value, Problem>? {
        if line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }) { return nil }
        return Result { () throws(Problem) in try parse(line) }
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

import Reactor

/// Sends queued bytes and reads the answers of a whole pipeline, up to its last sync.
struct PipelineDance: Dance {
    private var reader: PipelineReader
    private var isFlushed = false
    /// The results by statement; `nil` if an earlier failure prevented it.
    private(set) var results: [ResultHandle?]
    /// Names of statements that the server has prepared.
    private(set) var prepared: [String] = []
    /// The first failure. The server has rolled back the pipeline's implicit transaction.
    private(set) var failure: LibPQError?

    init(_ commands: [PipelineReader.Command], statements: Int) {
        reader = PipelineReader(commands)
        results = Array(repeating: nil, count: statements)
    }

    mutating func advance(_ connection: ConnectionHandle) -> Step {
        if !isFlushed {
            switch connection.flush() {
            case .failed: return .broken(connection.lost())
            case .done: isFlushed = true
            case .pending: break
            }
        }
        guard connection.consumeInput() else {
            // Answers that arrived before the break are still readable. They contain the reason, for example a
            // shutdown.
            return .broken(lost(connection))
        }
        while !connection.isBusy {
            if let step = take(connection.nextResult(), connection) { return step }
        }
        return .wait(isFlushed ? .read : [.read, .write])
    }

    private mutating func take(_ result: ResultHandle?, _ connection: ConnectionHandle) -> Step? {
        // libpq reports a lost connection as an error result. In an open pipeline it may do so forever.
        if let result, result.status == .error, connection.isBad {
            return .broken(connection.lost(result.diagnostics))
        }
        switch reader.received(result.map { .result($0.status) } ?? .end) {
        case .goOn: return nil
        case .prepared(let name): prepared.append(name)
        case .deliver(let index): results[index] = result
        case .fail(let index):
            if failure == nil {
                failure = LibPQError(.server, statement: index, diagnostics: result?.diagnostics)
            }
        case .finish: return .finished
        case .confused where connection.isBad:
            // What libpq returns of a lost connection belongs to no command.
            return .broken(connection.lost(failure?.diagnostics))
        case .confused:
            return .broken(LibPQError(.misuse, message: "COPY or several commands in a pipeline"))
        }
        return nil
    }

    private func lost(_ connection: ConnectionHandle) -> LibPQError {
        if let last = failure?.diagnostics, last.isFatal { return connection.lost(last) }
        while !connection.isBusy, let result = connection.nextResult() {
            if result.status == .error { return connection.lost(result.diagnostics) }
        }
        return connection.lost()
    }
}

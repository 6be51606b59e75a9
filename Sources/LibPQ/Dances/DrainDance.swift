import Reactor

/// Sends queued bytes and reads results until libpq has no more. Used outside of pipelines: for a script, or for the
/// start and the end of a COPY.
struct DrainDance: Dance {
    private var isFlushed = false
    /// The last result that is not an error.
    private(set) var last: ResultHandle?
    /// The first failure.
    private(set) var failure: LibPQError?

    mutating func advance(_ connection: ConnectionHandle) -> Step {
        if !isFlushed {
            switch connection.flush() {
            case .failed: return .broken(connection.lost())
            case .done: isFlushed = true
            case .pending: break
            }
        }
        guard connection.consumeInput() else {
            // The server's last error arrives before the end of the connection.
            let last = failure?.diagnostics.flatMap { $0.isFatal ? $0 : nil }
            return .broken(connection.lost(last))
        }
        while !connection.isBusy {
            guard let result = connection.nextResult() else { return .finished }
            switch result.status {
            case .error where connection.isBad:
                return .broken(connection.lost(result.diagnostics))
            case .error:
                if failure == nil { failure = LibPQError(.server, diagnostics: result.diagnostics) }
            case .copyIn, .copyOut:
                // libpq returns this result again and again until the COPY ends.
                last = result
                return .finished
            case .command, .tuples, .empty, .pipelineSync, .pipelineAborted, .other:
                last = result
            }
        }
        return .wait(isFlushed ? .read : [.read, .write])
    }
}

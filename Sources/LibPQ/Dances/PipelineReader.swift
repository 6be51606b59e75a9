/// Assigns the answers of a pipeline to its commands. It is pure: results in, decisions out.
///
/// libpq returns one result and a nil for each command, and one result without a nil for each sync. After a failure it
/// returns `pipelineAborted` for the commands up to the next sync. A failure at the sync itself comes before its result.
struct PipelineReader: Sendable {
    /// A command that was sent, in order.
    enum Command: Sendable, Hashable {
        /// A command of the session itself. Its failure does not matter.
        case housekeeping
        /// Prepare a statement under a name.
        case prepare(String)
        /// Execute the statement with this index.
        case execute(Int)
        case sync
    }

    /// A value that libpq returned.
    enum Event: Sendable, Hashable {
        case result(ResultHandle.Status)
        /// A nil: no more results for this command.
        case end
    }

    /// The action for the value.
    enum Action: Sendable, Hashable {
        case goOn
        /// The statement of this name now exists on the server.
        case prepared(String)
        /// This result belongs to the statement with this index.
        case deliver(Int)
        /// This result is the reason why the pipeline failed. The index is `nil` if it belongs to no statement.
        case fail(Int?)
        case finish
        /// libpq returned an unexpected value.
        case confused
    }

    private var commands: ArraySlice<Command>
    private var hasResult = false

    init(_ commands: [Command]) {
        self.commands = commands[...]
    }

    mutating func received(_ event: Event) -> Action {
        guard let command = commands.first else { return .confused }
        switch (event, command) {
        case (.end, _):
            guard hasResult else { return .confused }
            hasResult = false
            if command != .sync { commands.removeFirst() }
            return .goOn
        case (.result(.pipelineSync), .sync):
            hasResult = false
            commands.removeFirst()
            return commands.isEmpty ? .finish : .goOn
        case (.result(.error), .sync):
            // All statements are done. Their transaction failed at its end, or the server ends the session.
            guard !hasResult else { return .confused }
            hasResult = true
            return .fail(nil)
        case (.result, .sync): return .confused
        case (.result(let status), _):
            guard !hasResult else { return .confused }
            hasResult = true
            return action(for: status, of: command)
        }
    }

    private func action(for status: ResultHandle.Status, of command: Command) -> Action {
        switch (status, command) {
        case (.pipelineSync, _), (.copyIn, _), (.copyOut, _), (.other, _): .confused
        case (.error, .housekeeping), (.pipelineAborted, _): .goOn
        case (.error, .prepare): .fail(nextStatement)
        case (.error, .execute(let index)): .fail(index)
        case (_, .prepare(let name)): .prepared(name)
        case (_, .execute(let index)): .deliver(index)
        case (_, .housekeeping), (_, .sync): .goOn
        }
    }

    /// The statement that the current preparation is for.
    private var nextStatement: Int? {
        for case .execute(let index) in commands { return index }
        return nil
    }
}

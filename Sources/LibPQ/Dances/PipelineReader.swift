/// Which answers a pipeline still owes, and what each one means. Pure: results in, decisions out.
///
/// libpq gives for each command one result and a nil, for each sync one result and no nil. After a failure it gives
/// `pipelineAborted` for the commands up to the next sync.
struct PipelineReader: Sendable {
    /// What was sent, in order.
    enum Command: Sendable, Hashable {
        /// Work of the connection's own, whose failure concerns nobody.
        case housekeeping
        /// A statement is being prepared under a name.
        case prepare(String)
        /// Statement of that index is being executed.
        case execute(Int)
        case sync
    }

    /// What libpq handed out.
    enum Event: Sendable, Hashable {
        case result(ResultHandle.Status)
        /// A nil: nothing more for this command.
        case end
    }

    /// What to do about it.
    enum Action: Sendable, Hashable {
        case goOn
        /// The statement of this name exists on the server from now on.
        case prepared(String)
        /// This result belongs to the statement of this index.
        case deliver(Int)
        /// This is the reason why the pipeline failed; nil where it failed while preparing for no statement known.
        case fail(Int?)
        case finish
        /// libpq handed out what does not fit.
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
        case (.end, .sync): return .confused
        case (.end, _):
            guard hasResult else { return .confused }
            hasResult = false
            commands.removeFirst()
            return .goOn
        case (.result(.pipelineSync), .sync):
            commands.removeFirst()
            return commands.isEmpty ? .finish : .goOn
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

    /// The statement that the present preparation is for.
    private var nextStatement: Int? {
        for case .execute(let index) in commands { return index }
        return nil
    }
}

import LibPQ

extension PostgresError {
    /// Translates an error of libpq. `statementsBefore` counts Tally's own statements before the caller's.
    init(_ error: LibPQError, statementsBefore: Int = 0) {
        let diagnostics = error.diagnostics
        self.init(
            Self.code(of: error.code),
            message: Self.safeMessage(of: error),
            sqlState: diagnostics?.sqlState,
            constraint: diagnostics?.constraint,
            table: diagnostics?.table,
            statement: error.statement.map { Swift.max($0 - statementsBefore, 0) },
            serverMessage: diagnostics?.message ?? error.message,
            cause: error
        )
    }

    private static func code(of code: LibPQError.Code) -> Code {
        switch code {
        case .malformedConnectionString: .malformedURL
        case .unreachable: .unreachable
        case .connectionLost: .connectionLost
        case .timedOut: .timedOut
        case .cancelled: .cancelled
        case .server: .server
        case .closed: .closed
        default: .misuse
        }
    }

    /// SQLSTATE classes whose messages describe the statement, the schema or the server, never values.
    private static let safeClasses: Set<String> = ["08", "0A", "25", "26", "28", "3D", "42", "53", "55", "57", "58"]

    private static func safeMessage(of error: LibPQError) -> String? {
        guard let diagnostics = error.diagnostics else {
            // libpq's message about a lost connection can quote the server's last message.
            return error.code == .connectionLost ? nil : error.message
        }
        guard let state = diagnostics.sqlState, safeClasses.contains(String(state.prefix(2))) else { return nil }
        return diagnostics.message
    }
}

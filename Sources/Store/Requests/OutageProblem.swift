package import APITypes
import Postgres

extension Store {
    /// The answer to a caller when the fault is not its own.
    ///
    /// - Returns: 503 where the database is away, overloaded or in the way of itself, so that the same request may
    ///   succeed in a moment; nil for a mistake of this program.
    package static func problem(for error: any Error) -> Problem? {
        guard let error = error as? PostgresError else { return nil }
        switch error.code {
        case .unreachable, .poolExhausted, .closed:
            return .unavailable()
        case .connectionLost, .timedOut, .cancelled, .commitUnknown:
            return .outcomeUnknown()
        case .server:
            let state = error.sqlState ?? ""
            if let refusal = WriteRefusals.Refusal(sqlState: state) { return .unavailable(refusal.meaning) }
            return isPassing(sqlState: state)
                ? .unavailable("The database could not carry out the request now.") : nil
        default:
            return nil
        }
    }

    /// What keeps a daemon from its work, in a sentence for operators.
    package static func obstacle(_ error: any Error) -> String {
        guard let error = error as? PostgresError else { return "The database cannot be reached." }
        switch error.code {
        case .poolExhausted, .timedOut: return "The database did not answer in time. 'tally doctor' says what to do."
        case .server:
            let refusal = error.sqlState.flatMap { WriteRefusals.Refusal(sqlState: $0) }
            let words = refusal?.meaning ?? "The database could not carry out a statement."
            return "\(words) 'tally doctor' says what to do."
        default: return "The database cannot be reached."
        }
    }

    /// Whether a SQLSTATE says that the same statement may succeed later (PostgreSQL, appendix A).
    private static func isPassing(sqlState: String) -> Bool {
        switch sqlState {
        case "40001", "40P01": true  // serialization failure, deadlock
        case "55P03": true  // lock not available
        case "25P03": true  // this daemon was silent for too long in the transaction
        case "57014": true  // query cancelled, by its time limit
        case "57P01", "57P02", "57P03": true  // the server stops, crashed, starts
        default: sqlState.hasPrefix("53") || sqlState.hasPrefix("08")  // out of resources; connection lost
        }
    }
}

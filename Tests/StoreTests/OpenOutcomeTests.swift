import APITypes
import Postgres
import Store
import Testing

@Suite("Whether a caller can tell that the outcome is open")
struct OpenOutcomeTests {
    @Test(
        "An answer that the database did not give leaves the outcome open; without a connection nothing was carried out",
        arguments: [
            (.commitUnknown, "outcome_unknown"), (.connectionLost, "outcome_unknown"), (.timedOut, "outcome_unknown"),
            (.cancelled, "outcome_unknown"), (.unreachable, "unavailable"), (.poolExhausted, "unavailable"),
            (.closed, "unavailable"), (.malformedURL, nil),
        ] as [(PostgresError.Code, String?)]
    )
    func codes(error: PostgresError.Code, code: String?) {
        let problem = Store.problem(for: PostgresError(error))
        #expect(problem?.code == code)
        #expect(problem == nil || problem?.status == 503)
    }

    /// By what the server says, whether the same request may succeed in a moment; else it is a mistake of this program.
    private static let states: [(String, Bool)] = [
        ("40001", true), ("40P01", true), ("55P03", true), ("25P03", true), ("57014", true), ("57P01", true),
        ("57P02", true), ("57P03", true), ("53000", true), ("53100", true), ("53300", true), ("08000", true),
        ("08006", true), ("25006", true), ("58000", true), ("58030", true),
        ("22P05", false), ("22021", false), ("23505", false), ("23503", false), ("40002", false),
        ("42601", false), ("42P01", false), ("42501", false), ("55000", false), ("57000", false), ("XX000", false),
        ("", false),
    ]

    @Test("A server that cannot write says why")
    func reasons() {
        func detail(_ state: String) -> String? {
            Store.problem(for: PostgresError(.server, sqlState: state))?.detail
        }
        #expect(detail("25006") == "The database is read-only.")
        #expect(detail("53100") == "The database's disk is full.")
        #expect(detail("58030") == "The database's storage fails.")
    }

    @Test("A server that is stopped, full or in the way of itself, or that gave up waiting for this daemon, is 503")
    func passing() {
        for (state, isPassing) in Self.states {
            let problem = Store.problem(for: PostgresError(.server, sqlState: state))
            #expect(problem?.status == (isPassing ? 503 : nil), "\(state)")
        }
    }
}

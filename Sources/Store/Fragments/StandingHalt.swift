package import Postgres

/// SQL about halts of sending (promise 9). A halt that is being lifted still stands.
package enum StandingHalt {
    /// The condition that sending is halted for the app and the environment of a row.
    package static func isFor(_ row: String) -> String {
        """
        EXISTS (
            SELECT FROM sending_halts AS h WHERE h.bundle_id = \(row).bundle_id AND h.environment = \(row).environment
        )
        """
    }

    /// The condition that a token which was rejected at a time is a suspect: a halt stands for the app and the environment of
    /// its row, and the token was rejected on the way to the halt or since.
    package static func makesSuspect(_ rejectedAt: String, of row: String) -> String {
        """
        EXISTS (
            SELECT FROM sending_halts AS h
            WHERE h.bundle_id = \(row).bundle_id AND h.environment = \(row).environment
              AND \(isSuspect(rejectedAt, since: "h.suspect_from"))
        )
        """
    }

    /// The condition that a token which was rejected at a time is a suspect of a halt. The halt says since when there are
    /// suspects.
    package static func isSuspect(_ rejectedAt: String, since suspectFrom: String) -> String {
        suspect(rejectedAt, Query(unescaped: suspectFrom)).sql
    }

    /// ``isSuspect(_:since:)`` of a halt that is known.
    package static func isSuspect(_ rejectedAt: String, since suspectFrom: PGTimestamp) -> Query {
        suspect(rejectedAt, "\(suspectFrom)")
    }

    private static func suspect(_ rejectedAt: String, _ suspectFrom: Query) -> Query {
        "\(unescaped: rejectedAt) >= \(part: suspectFrom)"
    }
}

import APITypes
import Postgres

extension Instant {
    /// As the database's `timestamptz`.
    var stored: PGTimestamp { PGTimestamp(microseconds: microseconds) }

    /// A time that came out of the database.
    init(_ stored: PGTimestamp) {
        self.init(microseconds: stored.microseconds)
    }
}

import APITypes
package import Postgres

extension Instant {
    /// As the database's `timestamptz`.
    package var stored: PGTimestamp { PGTimestamp(microseconds: microseconds) }

    /// A time that came out of the database.
    package init(_ stored: PGTimestamp) {
        self.init(microseconds: stored.microseconds)
    }
}

package import APITypes
package import Postgres

extension Instant {
    /// As the database's `timestamptz`.
    package var stored: PGTimestamp { PGTimestamp(microseconds: microseconds) }

    /// A time that came out of the database.
    package init(_ stored: PGTimestamp) {
        self.init(microseconds: stored.microseconds)
    }
}

extension Instant: PostgresDecodable {
    package static func decodeField(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> Instant {
        Instant(try PGTimestamp.decodeField(bytes, oid: oid))
    }

    package static func decodeNull() throws(ValueFailure) -> Instant { throw .null }
}

package import FoundationEssentials

/// A `timestamptz`: microseconds since 1970-01-01 00:00 UTC, the server's own resolution.
///
/// `infinity` and `-infinity` are the largest and the smallest number.
package struct PGTimestamp: Sendable, Hashable, Comparable {
    package let microseconds: Int64

    package init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    package static func < (left: PGTimestamp, right: PGTimestamp) -> Bool {
        left.microseconds < right.microseconds
    }

    /// The server's epoch is 2000-01-01 00:00 UTC.
    private static let serverEpoch: Int64 = 946_684_800_000_000
}

extension PGTimestamp: PostgresValue {
    package static var postgresType: PostgresType { .timestamptz }

    package func encodePostgres(into bytes: inout [UInt8]) {
        let isInfinite = microseconds == .max || microseconds == .min
        let (difference, overflow) = microseconds.subtractingReportingOverflow(Self.serverEpoch)
        bytes.appendBigEndian(isInfinite ? microseconds : overflow ? .min : difference)
    }

    package static func decodeField(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> PGTimestamp {
        guard oid == PostgresType.timestamptz.oid else { throw .type(oid) }
        let value = try bytes.bigEndian(Int64.self)
        if value == .max || value == .min { return PGTimestamp(microseconds: value) }
        let (sum, overflow) = value.addingReportingOverflow(serverEpoch)
        guard !overflow else { throw .outOfRange }
        return PGTimestamp(microseconds: sum)
    }
}

extension Date: PostgresValue {
    package static var postgresType: PostgresType { .timestamptz }

    /// Rounds to microseconds. A date outside the server's range becomes infinite.
    package func encodePostgres(into bytes: inout [UInt8]) {
        let microseconds = (timeIntervalSince1970 * 1_000_000).rounded()
        let value = Int64(exactly: microseconds) ?? (microseconds > 0 ? .max : .min)
        PGTimestamp(microseconds: value).encodePostgres(into: &bytes)
    }

    package static func decodeField(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> Date {
        let timestamp = try PGTimestamp.decodeField(bytes, oid: oid)
        return Date(timeIntervalSince1970: Double(timestamp.microseconds) / 1_000_000)
    }
}

extension UUID: PostgresValue {
    package static var postgresType: PostgresType { .uuid }

    package func encodePostgres(into bytes: inout [UInt8]) {
        withUnsafeBytes(of: uuid) { bytes.append(contentsOf: $0) }
    }

    package static func decodeField(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> UUID {
        guard oid == PostgresType.uuid.oid else { throw .type(oid) }
        guard bytes.byteCount == MemoryLayout<uuid_t>.size else { throw .malformed }
        return UUID(uuid: bytes.unsafeLoadUnaligned(as: uuid_t.self))
    }
}

/// An `interval`, truncated to microseconds.
extension Duration: PostgresValue {
    package static var postgresType: PostgresType { .interval }

    package func encodePostgres(into bytes: inout [UInt8]) {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        let limit: Int64 = seconds < 0 ? .min : .max
        bytes.appendBigEndian(overflow ? limit : whole &+ attoseconds / 1_000_000_000_000)
        // Days and months have no fixed length; a duration has neither.
        bytes.appendBigEndian(Int32(0))
        bytes.appendBigEndian(Int32(0))
    }

    /// A day counts as 24 hours, as in the server's own interval arithmetic. Months are refused.
    package static func decodeField(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> Duration {
        guard oid == PostgresType.interval.oid else { throw .type(oid) }
        let microseconds = try bytes.bigEndian(Int64.self, at: 0)
        let days = try bytes.bigEndian(Int32.self, at: 8)
        guard try bytes.bigEndian(Int32.self, at: 12) == 0 else { throw .outOfRange }
        return .microseconds(microseconds) + .seconds(Int64(days) * 86_400)
    }
}

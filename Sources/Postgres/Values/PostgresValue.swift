/// A type that a column can be decoded as: a value, or an optional of one.
package protocol PostgresDecodable {
    /// Decodes a field that is not NULL. `oid` is the type that the server reports. Types that do not match are
    /// refused.
    static func decodeField(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> Self

    /// Decodes NULL; a value type refuses it.
    static func decodeNull() throws(ValueFailure) -> Self
}

/// A Swift type that can be bound to a statement and read from a row, in the server's binary format.
///
/// A `RawRepresentable` type whose raw value is a `PostgresValue` conforms with an empty extension.
package protocol PostgresValue: PostgresDecodable, PostgresArrayElement {
    /// The type that a parameter is declared with. For another type, cast in SQL: `\(state)::activity_state`.
    static var postgresType: PostgresType { get }

    /// Appends exactly the binary format of the value.
    func encodePostgres(into bytes: inout [UInt8])
}

extension PostgresValue {
    package static func decodeNull() throws(ValueFailure) -> Self { throw .null }
}

/// Why a value could not be decoded. It never contains the value.
package enum ValueFailure: Error, Hashable {
    /// NULL, but the program expects a value.
    case null
    /// The column has another type, with this OID.
    case type(UInt32)
    /// The bytes do not follow the type's format.
    case malformed
    /// The value fits the server's type, but not the program's.
    case outOfRange
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    package static func decodeField(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> Wrapped? {
        try Wrapped.decodeField(bytes, oid: oid)
    }

    package static func decodeNull() throws(ValueFailure) -> Wrapped? { nil }
}

extension PostgresValue where Self: RawRepresentable, RawValue: PostgresValue {
    package static var postgresType: PostgresType { RawValue.postgresType }

    package func encodePostgres(into bytes: inout [UInt8]) {
        rawValue.encodePostgres(into: &bytes)
    }

    package static func decodeField(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> Self {
        guard let value = Self(rawValue: try RawValue.decodeField(bytes, oid: oid)) else { throw .outOfRange }
        return value
    }
}

/// Something that a column can be read as: a value, or an optional of one.
package protocol PostgresDecodable {
    /// Reads what is not NULL. `oid` is the type that the server says it is; types that do not fit are refused.
    static func decodeField(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> Self

    /// What NULL becomes; a value refuses it.
    static func decodeNull() throws(ValueFailure) -> Self
}

/// A Swift type that can be bound to a statement and read from a row, in the server's binary format.
///
/// A `RawRepresentable` type whose raw value is a `PostgresValue` conforms with an empty extension.
package protocol PostgresValue: PostgresDecodable, PostgresArrayElement {
    /// The type that a parameter is declared with. Cast in SQL where another is wanted: `\(state)::activity_state`.
    static var postgresType: PostgresType { get }

    /// Appends the binary form, and nothing else.
    func encodePostgres(into bytes: inout [UInt8])
}

extension PostgresValue {
    package static func decodeNull() throws(ValueFailure) -> Self { throw .null }
}

/// Why a value could not be read. Never holds the value.
package enum ValueFailure: Error, Hashable {
    /// NULL where the program expects a value.
    case null
    /// The column is of another type, of this OID.
    case type(UInt32)
    /// The bytes are not what the type promises.
    case malformed
    /// Fits the type of the server, but not that of the program.
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

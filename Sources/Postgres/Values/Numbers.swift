extension Bool: PostgresValue {
    package static var postgresType: PostgresType { .bool }

    package func encodePostgres(into bytes: inout [UInt8]) {
        bytes.append(self ? 1 : 0)
    }

    package static func decodeField(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> Bool {
        guard oid == PostgresType.bool.oid else { throw .type(oid) }
        return try bytes.bigEndian(UInt8.self) != 0
    }
}

extension PostgresValue where Self: FixedWidthInteger {
    package func encodePostgres(into bytes: inout [UInt8]) { bytes.appendBigEndian(self) }

    /// Each Swift integer type accepts the server's three integer types if the value fits.
    package static func decodeField(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> Self {
        let value: Self?
        switch oid {
        case PostgresType.int8.oid: value = Self(exactly: try bytes.bigEndian(Int64.self))
        case PostgresType.int4.oid: value = Self(exactly: try bytes.bigEndian(Int32.self))
        case PostgresType.int2.oid: value = Self(exactly: try bytes.bigEndian(Int16.self))
        default: throw .type(oid)
        }
        guard let value else { throw .outOfRange }
        return value
    }
}

extension Int16: PostgresValue { package static var postgresType: PostgresType { .int2 } }
extension Int32: PostgresValue { package static var postgresType: PostgresType { .int4 } }
extension Int64: PostgresValue { package static var postgresType: PostgresType { .int8 } }
extension Int: PostgresValue { package static var postgresType: PostgresType { .int8 } }

extension Double: PostgresValue {
    package static var postgresType: PostgresType { .float8 }

    package func encodePostgres(into bytes: inout [UInt8]) {
        bytes.appendBigEndian(bitPattern)
    }

    package static func decodeField(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> Double {
        switch oid {
        case PostgresType.float8.oid: Double(bitPattern: try bytes.bigEndian(UInt64.self))
        case PostgresType.float4.oid: Double(Float(bitPattern: try bytes.bigEndian(UInt32.self)))
        default: throw .type(oid)
        }
    }
}

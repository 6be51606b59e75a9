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

/// Decodes the server's three integer types. Each Swift integer type accepts all of them if the value fits.
private func decodeInteger<T: FixedWidthInteger>(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> T {
    let value: T?
    switch oid {
    case PostgresType.int8.oid: value = T(exactly: try bytes.bigEndian(Int64.self))
    case PostgresType.int4.oid: value = T(exactly: try bytes.bigEndian(Int32.self))
    case PostgresType.int2.oid: value = T(exactly: try bytes.bigEndian(Int16.self))
    default: throw .type(oid)
    }
    guard let value else { throw .outOfRange }
    return value
}

extension Int16: PostgresValue {
    package static var postgresType: PostgresType { .int2 }
    package func encodePostgres(into bytes: inout [UInt8]) { bytes.appendBigEndian(self) }

    package static func decodeField(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> Int16 {
        try decodeInteger(bytes, oid: oid)
    }
}

extension Int32: PostgresValue {
    package static var postgresType: PostgresType { .int4 }
    package func encodePostgres(into bytes: inout [UInt8]) { bytes.appendBigEndian(self) }

    package static func decodeField(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> Int32 {
        try decodeInteger(bytes, oid: oid)
    }
}

extension Int64: PostgresValue {
    package static var postgresType: PostgresType { .int8 }
    package func encodePostgres(into bytes: inout [UInt8]) { bytes.appendBigEndian(self) }

    package static func decodeField(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> Int64 {
        try decodeInteger(bytes, oid: oid)
    }
}

extension Int: PostgresValue {
    package static var postgresType: PostgresType { .int8 }
    package func encodePostgres(into bytes: inout [UInt8]) { bytes.appendBigEndian(Int64(self)) }

    package static func decodeField(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> Int {
        try decodeInteger(bytes, oid: oid)
    }
}

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

/// A type that arrays can contain: values, optionals of values, and bytes, whose arrays are `bytea`.
package protocol PostgresArrayElement {
    /// The server type of an array of these.
    static var postgresTypeOfArray: PostgresType { get }
    /// Appends the binary form of the whole array.
    static func encodeArray(_ elements: [Self], into bytes: inout [UInt8])
    /// Decodes a whole array.
    static func decodeArray(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> [Self]
}

extension Array: PostgresDecodable where Element: PostgresArrayElement {
    package static func decodeField(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> [Element] {
        try Element.decodeArray(bytes, oid: oid)
    }
}

extension Array: PostgresArrayElement where Element: PostgresArrayElement {}

extension Array: PostgresValue where Element: PostgresArrayElement {
    package static var postgresType: PostgresType { Element.postgresTypeOfArray }

    package func encodePostgres(into bytes: inout [UInt8]) {
        Element.encodeArray(self, into: &bytes)
    }
}

extension UInt8: PostgresArrayElement {
    package static var postgresTypeOfArray: PostgresType { .bytea }

    package static func encodeArray(_ elements: [UInt8], into bytes: inout [UInt8]) {
        bytes.append(contentsOf: elements)
    }

    package static func decodeArray(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> [UInt8] {
        guard oid == PostgresType.bytea.oid else { throw .type(oid) }
        return bytes.withUnsafeBytes { Array($0) }
    }
}

extension PostgresValue {
    package static var postgresTypeOfArray: PostgresType { PostgresType(oid: postgresType.arrayOID, arrayOID: 0) }

    package static func encodeArray(_ elements: [Self], into bytes: inout [UInt8]) {
        encodeArrayHeader(count: elements.count, hasNulls: false, type: postgresType, into: &bytes)
        for element in elements { encodeElement(element, into: &bytes) }
    }

    package static func decodeArray(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> [Self] {
        try decodeElements(bytes, oid: oid)
    }
}

extension Optional: PostgresArrayElement where Wrapped: PostgresValue {
    package static var postgresTypeOfArray: PostgresType { Wrapped.postgresTypeOfArray }

    // Specialized here, because statements are built in other modules, which could call only the generic form.
    @specialized(where Wrapped == Int16)
    @specialized(where Wrapped == Int32)
    @specialized(where Wrapped == Int64)
    @specialized(where Wrapped == Double)
    @specialized(where Wrapped == String)
    @specialized(where Wrapped == JSONText)
    @specialized(where Wrapped == PGTimestamp)
    package static func encodeArray(_ elements: [Wrapped?], into bytes: inout [UInt8]) {
        let hasNulls = elements.contains { $0 == nil }
        encodeArrayHeader(count: elements.count, hasNulls: hasNulls, type: Wrapped.postgresType, into: &bytes)
        for element in elements {
            if let element { encodeElement(element, into: &bytes) } else { bytes.appendBigEndian(Int32(-1)) }
        }
    }

    package static func decodeArray(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> [Wrapped?] {
        try decodeElements(bytes, oid: oid)
    }
}

// The format of the server's array_send: dimensions, whether there are NULLs, and the element type. Each dimension then
// has its length and lower bound. Each element has its length and bytes, with length -1 for NULL.

private func encodeArrayHeader(count: Int, hasNulls: Bool, type: PostgresType, into bytes: inout [UInt8]) {
    bytes.appendBigEndian(Int32(count == 0 ? 0 : 1))
    bytes.appendBigEndian(Int32(hasNulls ? 1 : 0))
    bytes.appendBigEndian(type.oid)
    guard count > 0 else { return }
    bytes.appendBigEndian(Int32(clamping: count))
    bytes.appendBigEndian(Int32(1))
}

private func encodeElement(_ element: some PostgresValue, into bytes: inout [UInt8]) {
    let start = bytes.count
    bytes.appendBigEndian(Int32(0))
    element.encodePostgres(into: &bytes)
    bytes.replaceBigEndian(Int32(clamping: bytes.count - start - 4), at: start)
}

private func decodeElements<T: PostgresDecodable>(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> [T] {
    let dimensions = try bytes.bigEndian(Int32.self, at: 0)
    let elementOID = try bytes.bigEndian(UInt32.self, at: 8)
    if dimensions == 0 { return [] }
    guard dimensions == 1 else { throw .type(oid) }
    let count = try bytes.bigEndian(Int32.self, at: 12)
    // Each element has at least four bytes, so a wrong count cannot reserve more than the message contains.
    guard count >= 0, Int(count) <= bytes.byteCount / 4 else { throw .malformed }
    var elements: [T] = []
    elements.reserveCapacity(Int(count))
    var offset = 20
    for _ in 0..<count {
        let length = Int(try bytes.bigEndian(Int32.self, at: offset))
        offset += 4
        guard length >= 0 else {
            elements.append(try T.decodeNull())
            continue
        }
        guard length <= bytes.byteCount - offset else { throw .malformed }
        elements.append(try T.decodeField(bytes.extracting(offset..<offset + length), oid: elementOID))
        offset += length
    }
    return elements
}

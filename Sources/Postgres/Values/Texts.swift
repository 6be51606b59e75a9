extension String: PostgresValue {
    package static var postgresType: PostgresType { .text }

    package func encodePostgres(into bytes: inout [UInt8]) {
        bytes.append(contentsOf: utf8)
    }

    private static let textOIDs: Set<UInt32> = [
        PostgresType.text.oid, PostgresType.varchar.oid, PostgresType.bpchar.oid, PostgresType.name.oid,
        PostgresType.unknown.oid, PostgresType.json.oid,
    ]

    /// Decodes all text types, `json`, and the label of an enum.
    package static func decodeField(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> String {
        guard oid == PostgresType.text.oid || oid >= PostgresType.firstUserOID || textOIDs.contains(oid) else {
            throw .type(oid)
        }
        return bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}

/// JSON as UTF-8 text, preserved byte by byte in columns of type `json`. A `jsonb` column works too, but preserves only
/// the meaning.
package struct JSONText: Sendable, Hashable {
    package let bytes: [UInt8]

    /// - Parameter bytes: JSON text; the server refuses anything else.
    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The UTF-8 bytes of `text`.
    package init(_ text: String) {
        bytes = Array(text.utf8)
    }
}

extension JSONText: PostgresValue {
    package static var postgresType: PostgresType { .json }

    package func encodePostgres(into bytes: inout [UInt8]) {
        bytes.append(contentsOf: self.bytes)
    }

    package static func decodeField(_ bytes: RawSpan, oid: UInt32) throws(ValueFailure) -> JSONText {
        switch oid {
        case PostgresType.json.oid, PostgresType.text.oid:
            return JSONText(bytes.withUnsafeBytes { Array($0) })
        case PostgresType.jsonb.oid:
            // One version byte before the text; only version 1 exists.
            guard try bytes.bigEndian(UInt8.self, at: 0) == 1 else { throw .malformed }
            return JSONText(bytes.withUnsafeBytes { Array($0.dropFirst()) })
        default: throw .type(oid)
        }
    }
}

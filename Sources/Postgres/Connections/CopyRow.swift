/// One row for a binary COPY into a table: the fields in the order of the columns.
///
/// The server does not convert values here. Each value must have the column's own type, for example an `Int32` for an
/// `integer`.
package struct CopyRow {
    fileprivate var bytes: [UInt8]
    fileprivate var fields: Int16 = 0

    fileprivate init(appendingTo bytes: consuming [UInt8]) {
        self.bytes = bytes
    }

    /// Appends a field.
    // Specialized here, because rows are encoded in other modules, which could call only the generic form.
    @specialized(where Value == Int64)
    @specialized(where Value == Int16)
    @specialized(where Value == String)
    @specialized(where Value == JSONText)
    @specialized(where Value == PGTimestamp)
    package mutating func append<Value: PostgresValue>(_ value: Value) {
        let start = bytes.count
        bytes.appendBigEndian(Int32(0))
        value.encodePostgres(into: &bytes)
        bytes.replaceBigEndian(Int32(clamping: bytes.count - start - 4), at: start)
        fields += 1
    }

    /// Appends a field that may be NULL.
    package mutating func append(_ value: (some PostgresValue)?) {
        if let value { return append(value) }
        bytes.appendBigEndian(Int32(-1))
        fields += 1
    }
}

/// Encodes rows as a binary COPY in chunks (PostgreSQL manual, COPY, "Binary Format").
struct CopyEncoder<Rows: Sequence> {
    private static var chunkSize: Int { 65_536 }
    private static var signature: [UInt8] { Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0x00] }

    private var rows: Rows.Iterator
    private let encode: (Rows.Element, inout CopyRow) -> Void
    private var isStarted = false
    private var isFinished = false

    init(_ rows: Rows, encode: @escaping (Rows.Element, inout CopyRow) -> Void) {
        self.rows = rows.makeIterator()
        self.encode = encode
    }

    /// The next chunk; `nil` after the last.
    mutating func next() -> [UInt8]? {
        guard !isFinished else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.chunkSize + 4096)
        if !isStarted {
            isStarted = true
            bytes += Self.signature
            // No flags and no header extension.
            bytes.appendBigEndian(Int64(0))
        }
        while bytes.count < Self.chunkSize {
            guard let element = rows.next() else {
                isFinished = true
                bytes.appendBigEndian(Int16(-1))
                return bytes
            }
            let start = bytes.count
            bytes.appendBigEndian(Int16(0))
            var row = CopyRow(appendingTo: bytes)
            bytes = []
            encode(element, &row)
            // If the number is wrong, the server refuses the row with an error.
            row.bytes.replaceBigEndian(row.fields, at: start)
            bytes = row.bytes
        }
        return bytes
    }
}

/// The binary parameters of one statement, in one contiguous buffer.
package struct Parameters: Sendable, Hashable {
    /// Type OIDs, one per parameter.
    package private(set) var types: [UInt32] = []
    private var starts: [Int] = []
    /// Bytes per parameter, -1 for NULL.
    private var lengths: [Int32] = []
    private var bytes: [UInt8] = []

    package init() {}

    /// The number of parameters.
    package var count: Int { types.count }

    /// Appends a value in binary format; `encode` appends exactly its bytes.
    package mutating func append(type: UInt32, _ encode: (inout [UInt8]) -> Void) {
        let start = bytes.count
        encode(&bytes)
        types.append(type)
        starts.append(start)
        lengths.append(Int32(clamping: bytes.count - start))
    }

    /// Appends NULL.
    package mutating func appendNull(type: UInt32) {
        types.append(type)
        starts.append(bytes.count)
        lengths.append(-1)
    }

    /// Appends the parameters of another statement, in their order.
    package mutating func append(_ other: Parameters) {
        let start = bytes.count
        bytes += other.bytes
        types += other.types
        starts += other.starts.map { start + $0 }
        lengths += other.lengths
    }

    /// Lends the parameters in the form that `PQsendQueryParams` and similar functions need. libpq copies them at once.
    func withRaw<R>(
        _ body: (
            _ types: UnsafePointer<UInt32>?,
            _ values: UnsafePointer<UnsafePointer<CChar>?>?,
            _ lengths: UnsafePointer<Int32>?,
            _ formats: UnsafePointer<Int32>?
        ) -> R
    ) -> R {
        let formats = [Int32](repeating: 1, count: count)
        return unsafe bytes.withUnsafeBytes { buffer in
            var values = unsafe [UnsafePointer<CChar>?](repeating: nil, count: count)
            for index in 0..<count where lengths[index] >= 0 {
                // An empty value still needs an address. Otherwise libpq treats it as NULL.
                unsafe values[index] =
                    buffer.baseAddress.map { unsafe ($0 + starts[index]).assumingMemoryBound(to: CChar.self) }
                    ?? Self.nowhere
            }
            // Arrays become pointers that are valid during this call.
            return unsafe body(types, values, lengths, formats)
        }
    }

    /// An address for empty values; it is never read.
    private static var nowhere: UnsafePointer<CChar>? { unsafe UnsafePointer(bitPattern: 1) }
}

/// One statement with its parameters.
package struct Statement: Sendable, Hashable {
    /// One SQL command with `$1`, `$2` … for the parameters.
    package let sql: String
    package let parameters: Parameters

    package init(sql: String, parameters: Parameters = Parameters()) {
        self.sql = sql
        self.parameters = parameters
    }
}

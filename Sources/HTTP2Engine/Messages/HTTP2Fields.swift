/// The header fields of a received message: one buffer of bytes and the ranges of names and values in it.
///
/// It excludes pseudo-headers. A copy is cheap until the connection reuses the storage.
package struct HTTP2Fields: Sendable {
    private struct Mark {
        let name: UInt32
        let value: UInt32
        let end: UInt32
    }

    private var bytes: [UInt8] = []
    private var marks: [Mark] = []

    package init() {}

    /// The number of fields.
    package var count: Int { marks.count }

    /// The total bytes of names and values.
    package var byteCount: Int { bytes.count }

    /// The first value of a field; `nil` if the field is absent. Bytes that are not UTF-8 are replaced.
    ///
    /// - `name`: lower case.
    package subscript(name: String) -> String? {
        self.bytes(of: name).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The bytes of the first value of a field.
    ///
    /// - `name`: lower case.
    package func bytes(of name: String) -> ArraySlice<UInt8>? {
        let wanted = name.utf8
        for mark in marks where Int(mark.value - mark.name) == wanted.count {
            if bytes[Int(mark.name)..<Int(mark.value)].elementsEqual(wanted) {
                return bytes[Int(mark.value)..<Int(mark.end)]
            }
        }
        return nil
    }

    /// All fields in the order of arrival.
    package var all: [HTTP2Header] {
        marks.map { mark in
            HTTP2Header(
                String(decoding: bytes[Int(mark.name)..<Int(mark.value)], as: UTF8.self),
                String(decoding: bytes[Int(mark.value)..<Int(mark.end)], as: UTF8.self)
            )
        }
    }

    mutating func append(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
        let start = UInt32(bytes.count)
        unsafe bytes.append(contentsOf: name)
        let middle = UInt32(bytes.count)
        unsafe bytes.append(contentsOf: value)
        marks.append(Mark(name: start, value: middle, end: UInt32(bytes.count)))
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        marks.removeAll(keepingCapacity: true)
    }
}

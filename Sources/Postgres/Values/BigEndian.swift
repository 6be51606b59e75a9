extension RawSpan {
    /// An integer in network order that fills the span.
    func bigEndian<T: FixedWidthInteger & BitwiseCopyable>(_: T.Type) throws(ValueFailure) -> T {
        guard byteCount == MemoryLayout<T>.size else { throw .malformed }
        return T(bigEndian: unsafeLoadUnaligned(as: T.self))
    }

    /// An integer in network order at an offset.
    func bigEndian<T: FixedWidthInteger & BitwiseCopyable>(_: T.Type, at offset: Int) throws(ValueFailure) -> T {
        guard offset >= 0, offset <= byteCount - MemoryLayout<T>.size else { throw .malformed }
        return T(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: T.self))
    }
}

extension [UInt8] {
    /// Appends an integer in network order.
    mutating func appendBigEndian<T: FixedWidthInteger>(_ value: T) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }

    /// Replaces an integer that `appendBigEndian` wrote at an offset.
    mutating func replaceBigEndian<T: FixedWidthInteger>(_ value: T, at offset: Int) {
        Swift.withUnsafeBytes(of: value.bigEndian) { bytes in
            for index in bytes.indices { self[offset + index] = bytes[index] }
        }
    }
}

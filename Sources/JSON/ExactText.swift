/// A string that is compared by its code points. Keys of JSON objects are compared this way.
///
/// Swift's `String` treats canonically equivalent texts as equal (`é` in one or in two scalars). JSON does not, and
/// neither does the receiver of a document that Tally passes through.
package struct ExactText: Hashable, Sendable {
    /// The wrapped text.
    package let text: String

    /// Wraps a text.
    package init(_ text: String) { self.text = text }

    package static func == (left: ExactText, right: ExactText) -> Bool { equal(left.text, right.text) }

    package func hash(into hasher: inout Hasher) { Self.hash(text, into: &hasher) }

    /// Hashes the bytes of a text. `String`'s own hash is unsafe here: all texts that differ only in normalization
    /// share it, and a hostile document may contain any number of them.
    package static func hash(_ text: String, into hasher: inout Hasher) {
        let bytes = text.utf8.span.bytes
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        // The length separates this text from the bytes that are hashed after it.
        hasher.combine(bytes.byteCount)
    }

    /// Whether two texts consist of the same code points.
    package static func equal(_ left: String, _ right: String) -> Bool {
        // Equal bits are equal strings, in every representation. Short equal texts nearly always have equal bits.
        if unsafeBitCast(left, to: SIMD2<UInt64>.self) == unsafeBitCast(right, to: SIMD2<UInt64>.self) { return true }
        guard left.utf8.count == right.utf8.count else { return false }
        let (left, right) = (left.utf8.span, right.utf8.span)
        var index = 0
        // Eight bytes at a time. The guard and the loop condition keep both loads in bounds.
        while index + 8 <= left.count {
            let isSame =
                left.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
                == right.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
            guard isSame else { return false }
            index += 8
        }
        while index < left.count {
            guard left[index] == right[index] else { return false }
            index += 1
        }
        return true
    }
}

/// A string compared by its code points.
///
/// Swift's `String` holds canonically equivalent texts equal (`é` in one or in two scalars); JSON does not, and neither
/// does the far side of a pass-through.
package struct ExactText: Hashable, Sendable {
    /// The text itself.
    package let text: String

    /// Wraps a text, to be a key by its code points.
    package init(_ text: String) { self.text = text }

    package static func == (left: ExactText, right: ExactText) -> Bool { equal(left.text, right.text) }

    package func hash(into hasher: inout Hasher) { Self.hash(text, into: &hasher) }

    /// Feeds the bytes of a text. Not `String`'s own hash: texts that differ in normalization alone all have the same
    /// one there, and a document may hold as many of those as it likes.
    package static func hash(_ text: String, into hasher: inout Hasher) {
        let bytes = text.utf8.span.bytes
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        // What follows must not look like more of this.
        hasher.combine(bytes.byteCount)
    }

    /// Whether two texts consist of the same code points.
    package static func equal(_ left: String, _ right: String) -> Bool {
        // The same bits are the same string, whatever they stand for; short texts nearly always are.
        if unsafeBitCast(left, to: SIMD2<UInt64>.self) == unsafeBitCast(right, to: SIMD2<UInt64>.self) { return true }
        guard left.utf8.count == right.utf8.count else { return false }
        let (left, right) = (left.utf8.span, right.utf8.span)
        var index = 0
        // Eight bytes at a time: both spans have as many, as the guard and the condition say.
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

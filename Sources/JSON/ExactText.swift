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

    /// Texts that are equal here are equal as `String`, so `String`'s own hash fits.
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }

    /// Whether two texts consist of the same code points.
    package static func equal(_ left: String, _ right: String) -> Bool {
        // `==` compares memory at once for the usual case and rejects most of the unequal; only what is equal there
        // needs the second look.
        guard left.utf8.count == right.utf8.count, left == right else { return false }
        return left.utf8.elementsEqual(right.utf8)
    }
}

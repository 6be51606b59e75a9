package import JSON

/// A JSON value in its compact form, written once and then only copied: an activity's attributes or content state on
/// their way into bodies.
package struct CompactJSON: Sendable, Hashable {
    /// UTF-8, no white space, digits as the caller wrote them.
    package let bytes: [UInt8]

    /// Writes a value.
    package init(_ value: JSONValue) { bytes = value.serialized() }

    /// Takes what ``bytes`` gave before, as it comes out of our own database; it is not checked again.
    package init(stored bytes: [UInt8]) { self.bytes = bytes }

    /// How many bytes it takes in a body.
    package var count: Int { bytes.count }
}

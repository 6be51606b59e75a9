package import JSON

/// A JSON value that is serialized once and then only copied. Bodies are built from the attributes and content states
/// of activities in this form.
package struct CompactJSON: Sendable, Hashable {
    /// UTF-8, no white space, digits as the caller wrote them.
    package let bytes: [UInt8]

    /// Writes a value.
    package init(_ value: JSONValue) { bytes = value.serialized() }

    /// Takes earlier ``bytes`` back from Tally's own database, without checking them again.
    package init(stored bytes: [UInt8]) { self.bytes = bytes }

    /// Its size in a body, in bytes.
    package var count: Int { bytes.count }
}

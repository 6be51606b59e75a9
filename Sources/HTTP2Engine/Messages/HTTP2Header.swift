/// One header field in text, as it is written into code or shown to people.
package struct HTTP2Header: Sendable, Hashable {
    /// Lower-case; never a pseudo-header.
    package let name: String
    package let value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

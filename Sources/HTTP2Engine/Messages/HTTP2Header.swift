/// One header field as text, for code and messages.
package struct HTTP2Header: Sendable, Hashable {
    /// Lower case; never a pseudo-header.
    package let name: String
    package let value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

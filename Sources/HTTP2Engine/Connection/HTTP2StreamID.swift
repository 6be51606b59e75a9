/// Identifies one open request on one connection.
package struct HTTP2StreamID: Sendable, Hashable {
    /// The number on the wire; grows with every request.
    package let number: Int32
}

/// Names one request on one connection, as long as it is open.
package struct HTTP2StreamID: Sendable, Hashable {
    /// The number on the wire; grows with every request.
    package let number: Int32
}

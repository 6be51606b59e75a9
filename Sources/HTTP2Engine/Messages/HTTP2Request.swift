/// A complete request that a server received.
package struct HTTP2Request: Sendable {
    /// The value of `:method`.
    package let method: String
    /// The value of `:path`, with its query.
    package let path: String
    /// The value of `:authority`, or empty.
    package let authority: String
    package let fields: HTTP2Fields
    package let body: [UInt8]
    /// False if the body exceeded the configured limit. Then ``body`` contains the first part, and the rest is lost.
    package let isBodyComplete: Bool
    /// The stream of the request; grows within a connection.
    package let streamID: Int32
}

/// A complete request, as a server sees it.
package struct HTTP2Request: Sendable {
    /// The value of `:method`.
    package let method: String
    /// The value of `:path`, with its query.
    package let path: String
    /// The value of `:authority`, or empty.
    package let authority: String
    package let fields: HTTP2Fields
    package let body: [UInt8]
    /// False when the body was larger than the configured bound: ``body`` then holds what fitted, and the rest is
    /// dropped.
    package let isBodyComplete: Bool
    /// The stream that it came on; grows within a connection.
    package let streamID: Int32

    package init(
        method: String,
        path: String,
        authority: String,
        fields: HTTP2Fields,
        body: [UInt8],
        isBodyComplete: Bool,
        streamID: Int32
    ) {
        self.method = method
        self.path = path
        self.authority = authority
        self.fields = fields
        self.body = body
        self.isBodyComplete = isBodyComplete
        self.streamID = streamID
    }
}

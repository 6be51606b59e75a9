/// The way back to one request. Belongs to the connection's loop; may be kept as long as needed.
///
/// When the stream or its connection is over, or was answered already, calls do nothing.
package struct HTTP2Responder {
    package let streamID: Int32
    private let origin: HTTP2ServerConnection

    init(streamID: Int32, connection: HTTP2ServerConnection) {
        self.streamID = streamID
        self.origin = connection
    }

    /// The connection of the request, until it has closed.
    package var connection: HTTP2ServerConnection? { origin.isClosed ? nil : origin }

    /// Answers with bytes that other answers share.
    ///
    /// - Returns: false when there is nobody to answer any more.
    /// - Throws: ``HTTP2Error/Code/invalidRequest`` when status (200…599) or a field may not be sent.
    @discardableResult
    package func respond(
        status: Int,
        fields: [HTTP2Header] = [],
        sharedBody: SharedBytes?
    ) throws(HTTP2Error) -> Bool {
        guard let connection else { return false }
        return try connection.respond(stream: streamID, status: status, fields: fields, body: sharedBody)
    }

    /// Answers. Status and fields must be valid, as for the other form.
    @discardableResult
    package func respond(
        status: Int,
        fields: [HTTP2Header] = [],
        body: [UInt8] = []
    ) throws(HTTP2Error) -> Bool {
        try respond(status: status, fields: fields, sharedBody: body.isEmpty ? nil : SharedBytes(body))
    }

    /// Resets the stream; with ``HTTP2ErrorCode/refusedStream`` the client may take it as never processed.
    package func reset(_ code: HTTP2ErrorCode) {
        connection?.reset(stream: streamID, code: code)
    }
}

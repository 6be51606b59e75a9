/// Answers one request. It belongs to the connection's loop and may be stored as long as needed.
///
/// After the stream has ended or was answered, and after its connection has ended, calls do nothing.
package struct HTTP2Responder {
    package let streamID: Int32
    private let origin: HTTP2ServerConnection

    init(streamID: Int32, connection: HTTP2ServerConnection) {
        self.streamID = streamID
        self.origin = connection
    }

    /// The connection of the request; `nil` after it has closed.
    package var connection: HTTP2ServerConnection? { origin.isClosed ? nil : origin }

    /// Answers with bytes that other answers share.
    ///
    /// - Returns: False if the stream no longer exists.
    /// - Throws: ``HTTP2Error/Code/invalidRequest`` if the status (200…599) or a field is not allowed.
    @discardableResult
    package func respond(
        status: Int,
        fields: [HTTP2Header] = [],
        sharedBody: SharedBytes?
    ) throws(HTTP2Error) -> Bool {
        guard let connection else { return false }
        return try connection.respond(stream: streamID, status: status, fields: fields, body: sharedBody)
    }

    /// Answers the request. Status and fields must be valid, as in the other method.
    @discardableResult
    package func respond(
        status: Int,
        fields: [HTTP2Header] = [],
        body: [UInt8] = []
    ) throws(HTTP2Error) -> Bool {
        try respond(status: status, fields: fields, sharedBody: body.isEmpty ? nil : SharedBytes(body))
    }

    /// Resets the stream. With ``HTTP2ErrorCode/refusedStream`` the client may assume that it was never processed.
    package func reset(_ code: HTTP2ErrorCode) {
        connection?.reset(stream: streamID, code: code)
    }
}

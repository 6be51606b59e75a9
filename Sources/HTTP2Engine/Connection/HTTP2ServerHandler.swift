/// What a server's connection tells. Every call is made on the loop, never inside a call to the connection.
///
/// The connection holds its handler strongly until it has closed; one handler may serve many connections.
package protocol HTTP2ServerHandler: AnyObject {
    /// A request is complete (or too large, which it says). Answer now or later, on the loop.
    func received(_ request: HTTP2Request, responder: HTTP2Responder)

    /// The connection is over; called exactly once. Open requests can no longer be answered.
    ///
    /// - `error`: nil when the client closed after its last answer, or the server closed or dropped it.
    func closed(_ connection: HTTP2ServerConnection, error: HTTP2Error?)
}

/// Receives the requests of a server's connection. Every call happens on the loop, never inside a call to the
/// connection.
///
/// The connection references its handler strongly until it has closed. One handler may serve many connections.
package protocol HTTP2ServerHandler: AnyObject {
    /// A request is complete, or was truncated and says so. Answer now or later, on the loop.
    func received(_ request: HTTP2Request, responder: HTTP2Responder)

    /// The connection has ended; called exactly once. Open requests can no longer be answered.
    ///
    /// - `error`: `nil` if the client closed after its last response, or if the server closed or dropped it.
    func closed(_ connection: HTTP2ServerConnection, error: HTTP2Error?)
}

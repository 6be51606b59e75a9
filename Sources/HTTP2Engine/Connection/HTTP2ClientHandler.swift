/// Receives the events of a client connection. Every call happens on the loop, never inside a call to the connection.
///
/// The connection references its handler weakly. All methods may use the connection: submit, cancel, close.
package protocol HTTP2ClientHandler: AnyObject {
    /// TLS is ready, ALPN chose `h2`, and the server's first SETTINGS arrived. Requests may be submitted.
    func connected(_ connection: HTTP2ClientConnection)

    /// A request got its response. `tag` is the one from the submission.
    func responded(_ connection: HTTP2ClientConnection, tag: UInt64, response: HTTP2Response)

    /// A request will get no response. It is not called for requests that the owner cancelled.
    func streamFailed(_ connection: HTTP2ClientConnection, tag: UInt64, failure: HTTP2StreamFailure)

    /// A group of responses and failures has been reported, and streams may be free. Submit more requests here.
    func streamsFreed(_ connection: HTTP2ClientConnection)

    /// The server changed its limit of concurrent streams. Also called for the first SETTINGS, after `connected`.
    func settingsChanged(_ connection: HTTP2ClientConnection, maximumConcurrentStreams: Int)

    /// The server accepts no new streams on this connection. Streams above `lastStreamID` follow as
    /// ``HTTP2StreamFailure/notProcessed``; the others may still get responses. It may be called twice, then with a
    /// smaller id.
    func goneAway(
        _ connection: HTTP2ClientConnection,
        lastStreamID: Int32,
        code: HTTP2ErrorCode,
        debugData: [UInt8]
    )

    /// The connection has carried its maximum number of requests. It accepts no more and closes after the open ones.
    func exhausted(_ connection: HTTP2ClientConnection)

    /// The connection is closed; every open request was reported before. Called exactly once, also if connecting
    /// failed.
    ///
    /// - `error`: `nil` after ``HTTP2ClientConnection/close()`` and after a GOAWAY with NO_ERROR.
    func closed(_ connection: HTTP2ClientConnection, error: HTTP2Error?)
}

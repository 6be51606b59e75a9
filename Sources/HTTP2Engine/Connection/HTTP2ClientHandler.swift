/// What a client connection tells its owner. Every call is made on the loop, never inside a call to the connection.
///
/// The connection holds its handler weakly. All calls may use the connection: submit, cancel, close.
package protocol HTTP2ClientHandler: AnyObject {
    /// TLS is up, ALPN chose `h2` and the server's first SETTINGS are known: requests may be submitted.
    func connected(_ connection: HTTP2ClientConnection)

    /// A request was answered. `tag` is what it was submitted with.
    func responded(_ connection: HTTP2ClientConnection, tag: UInt64, response: HTTP2Response)

    /// A request will not be answered. Not called for those that the owner cancelled.
    func streamFailed(_ connection: HTTP2ClientConnection, tag: UInt64, failure: HTTP2StreamFailure)

    /// A group of answers and failures has been reported and streams may be free: the place to submit more.
    func streamsFreed(_ connection: HTTP2ClientConnection)

    /// The server changed its limit of concurrent streams (also called for the first SETTINGS, after `connected`).
    func settingsChanged(_ connection: HTTP2ClientConnection, maximumConcurrentStreams: Int)

    /// The server wants no new streams here. Streams above `lastStreamID` follow as
    /// ``HTTP2StreamFailure/notProcessed``; the others may still be answered. May come twice, with a smaller id.
    /// Nothing more is accepted.
    func goneAway(
        _ connection: HTTP2ClientConnection,
        lastStreamID: Int32,
        code: HTTP2ErrorCode,
        debugData: [UInt8]
    )

    /// It has carried as many requests as a connection can: it takes no more and closes when the open ones are over.
    func exhausted(_ connection: HTTP2ClientConnection)

    /// It is over; every open request has been reported before. Called exactly once, also when connecting failed.
    ///
    /// - `error`: nil after ``HTTP2ClientConnection/close()`` and after a GOAWAY with NO_ERROR.
    func closed(_ connection: HTTP2ClientConnection, error: HTTP2Error?)
}

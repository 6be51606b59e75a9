/// Which implementation stands behind ``ClientSession`` and ``ServerSession``. The only place that names one:
/// connections, pools and tests know the protocols.
enum FrameSessions {
    /// A client's session with its preface and SETTINGS queued.
    ///
    /// - `firstStream`: odd; a session that begins late comes to the end of its numbers early.
    static func client(
        maximumBody: Int,
        maximumHeaders: Int,
        firstStream: Int32 = 1
    ) throws(HTTP2Error) -> any ClientSession {
        try NGHTTP2ClientSession(maximumBody: maximumBody, maximumHeaders: maximumHeaders, firstStream: firstStream)
    }

    /// A server's session with its SETTINGS queued.
    static func server(
        maximumConcurrentStreams: Int,
        maximumBody: Int,
        maximumHeaders: Int
    ) throws(HTTP2Error) -> any ServerSession {
        try NGHTTP2ServerSession(
            maximumConcurrentStreams: maximumConcurrentStreams,
            maximumBody: maximumBody,
            maximumHeaders: maximumHeaders
        )
    }
}

/// Makes the sessions. Connections, pools and tests only use the protocols.
enum FrameSessions {
    /// A client session with its preface and SETTINGS queued.
    ///
    /// - `firstStream`: odd. A session with a high first number exhausts its stream numbers early.
    static func client(
        _ implementation: HTTP2Implementation,
        maximumBody: Int,
        maximumHeaders: Int,
        firstStream: Int32 = 1
    ) throws(HTTP2Error) -> any ClientSession {
        switch implementation {
        case .tally:
            try TallyClientSession(maximumBody: maximumBody, maximumHeaders: maximumHeaders, firstStream: firstStream)
        case .nghttp2:
            try NGHTTP2ClientSession(maximumBody: maximumBody, maximumHeaders: maximumHeaders, firstStream: firstStream)
        }
    }

    /// A server session with its SETTINGS queued.
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

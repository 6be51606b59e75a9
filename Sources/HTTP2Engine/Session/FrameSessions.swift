/// Makes the sessions of clients. Connections, pools and tests only use the protocol.
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
}

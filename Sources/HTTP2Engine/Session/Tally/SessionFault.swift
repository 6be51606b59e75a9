/// What ends a connection in the middle of a frame.
struct SessionFault: Error {
    enum Ending {
        /// The peer is told this code.
        case goAway(HTTP2ErrorCode)
        /// The peer is told nothing. It does not read, or it does not stop.
        case silent(HTTP2Error.Code)
    }

    let ending: Ending
    /// For people, without anything that the peer has sent.
    let reason: String

    init(_ code: HTTP2ErrorCode, _ reason: String) {
        ending = .goAway(code)
        self.reason = reason
    }

    init(silent code: HTTP2Error.Code, _ reason: String) {
        ending = .silent(code)
        self.reason = reason
    }
}

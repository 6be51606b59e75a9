/// Why a request got no answer.
package enum HTTP2StreamFailure: Sendable, Hashable {
    /// RST_STREAM with REFUSED_STREAM: the server did nothing with it. Safe to send again.
    case refused
    /// It never left, or its stream is above the last one that a GOAWAY names. Safe to send again.
    case notProcessed
    /// RST_STREAM with another code. May or may not have been processed.
    case reset(HTTP2ErrorCode)
    /// The answer was malformed, or its body or headers larger than the configured bound. It was processed somehow.
    case unusableResponse
    /// The connection ended first. May or may not have been processed.
    case connectionLost
}

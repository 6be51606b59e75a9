/// Why a request got no response. It also says whether a retry is safe.
package enum HTTP2StreamFailure: Sendable, Hashable {
    /// RST_STREAM with REFUSED_STREAM: the server did not process it. A retry is safe.
    case refused
    /// It never left, or its stream is above the last one in a GOAWAY. A retry is safe.
    case notProcessed
    /// RST_STREAM with another code. The server may have processed it.
    case reset(HTTP2ErrorCode)
    /// The response was malformed, or its body or headers exceeded a configured limit. The server has processed the
    /// request.
    case unusableResponse
    /// The connection ended first. The server may have processed it.
    case connectionLost
}

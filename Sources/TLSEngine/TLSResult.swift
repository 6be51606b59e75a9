/// What one step of a TLS session came to.
package enum TLSResult<Value: Sendable>: Sendable {
    /// It is done.
    case complete(Value)
    /// More bytes from the peer are needed first; no error.
    case wantsMore
    /// The peer said that it sends nothing more.
    case closed
    /// The session is of no use any more. What it has to tell the peer lies in its output.
    case failed(TLSError)
}

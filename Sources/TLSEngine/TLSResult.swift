/// The result of one step of a TLS session.
package enum TLSResult<Value: Sendable>: Sendable {
    /// The step is done.
    case complete(Value)
    /// The step needs more bytes from the peer; this is not an error.
    case wantsMore
    /// The peer announced that it sends nothing more.
    case closed
    /// The session is unusable. Its output may contain an alert for the peer.
    case failed(TLSError)
}

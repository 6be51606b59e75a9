/// Who writes and reads the frames of a client connection.
package enum HTTP2Implementation: String, Sendable, CaseIterable {
    /// Tally's own session. It does what a client of APNs needs, at a fraction of the CPU time.
    case tally
    /// libnghttp2. It does the whole protocol, and judges the other in the tests.
    case nghttp2
}

import Store

/// Tokens that APNs rejected are kept, and get no pushes (promise 9).
package enum UsableToken {
    /// The SQL of the own token of the device `d`, to which ordinary pushes go. Null: it has none, or APNs rejected it.
    ///
    /// While sending is halted, nobody knows whether a token is bad that was rejected on the way to the halt. What is for
    /// it waits for the end of the halt, or is its probe.
    package static let ofDevice = """
        CASE WHEN d.token_rejected_at IS NULL OR \(StandingHalt.makesSuspect("d.token_rejected_at", of: "d"))
             THEN d.device_token END
        """
}

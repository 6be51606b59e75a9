/// Tokens that APNs rejected are kept, and get no pushes (promise 9).
package enum UsableToken {
    /// The SQL of the own token of the device `d`, to which ordinary pushes go. Null: it has none, or APNs rejected it.
    ///
    /// While sending is halted, nobody knows whether a token is bad that was rejected on the way to the halt. What is for
    /// it waits for the end of the halt, or is its probe.
    package static let ofDevice = """
        CASE WHEN d.token_rejected_at IS NULL OR EXISTS (
            SELECT FROM sending_halts AS h
            WHERE h.bundle_id = d.bundle_id AND h.environment = d.environment AND h.suspect_from <= d.token_rejected_at
        ) THEN d.device_token END
        """
}

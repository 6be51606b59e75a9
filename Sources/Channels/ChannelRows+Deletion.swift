extension ChannelRows {
    /// A part of a statement: it deletes channels of activities that are about to be deleted.
    ///
    /// - Parameters:
    ///   - keys: A table of the `activity_key` of these activities.
    ///   - isGone: An SQL condition on a channel `c`.
    /// - Returns: The part.
    package static func deletion(from keys: String, where isGone: String) -> String {
        "DELETE FROM channels AS c USING \(keys) WHERE c.activity_key = \(keys).activity_key AND \(isGone)"
    }
}

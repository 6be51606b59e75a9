import Store

extension ChannelRows {
    /// The condition that Apple's list, too, has forgotten the channel `c`. The list may show a channel for a while after
    /// it is gone; then it is deleted once more.
    package static let isForgotten = """
        (\(ChannelStanding.isGone("c")) AND coalesce(c.deleted_at, c.lost_at) < now() - interval '24 hours')
        """

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

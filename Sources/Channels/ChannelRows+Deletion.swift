extension ChannelRows {
    /// A part of a statement: it deletes channels of activities that are about to be deleted. `keys` is a table of the
    /// `activity_key` of the activities, and `isGone` an SQL condition on a channel `c`.
    package static func deletion(from keys: String, where isGone: String) -> String {
        "DELETE FROM channels AS c USING \(keys) WHERE c.activity_key = \(keys).activity_key AND \(isGone)"
    }
}

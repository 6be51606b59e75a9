/// Ends an activity when nothing was posted for as long as its policy allowed when it was started.
///
/// Changes do not touch its schedule, because there may be many. When the schedule is due, it looks for the newest
/// change, and moves itself to when that will be too old. An update that changes nothing leaves no change to find. So the
/// schedule itself keeps the time of one, at most once in a ``tenth``.
enum SilenceLimit {
    /// An SQL expression: for how long the schedule `s` keeps no second time of an update that changes nothing. The limit
    /// is that much longer then, so it never comes before its time.
    static let tenth = "s.silence_seconds * interval '0.1 second'"

    /// An SQL expression: since when the activity of the schedule `s` is silent. A start that is still to come counts
    /// as a change of its time.
    private static let silentSince = """
        (SELECT greatest(c.accepted_at, a.started_at, CASE WHEN a.state = 'scheduled' THEN a.starts_at END,
                         s.heard_at + \(tenth))
         FROM activities AS a CROSS JOIN LATERAL (
             SELECT accepted_at FROM changes WHERE activity_key = a.activity_key AND revision = a.revision OFFSET 0
         ) AS c
         WHERE a.activity_key = s.activity_key)
        """

    /// An SQL expression: when the schedule `s` is to run; null if it is no silence limit.
    static let limit = "\(silentSince) + s.silence_seconds * interval '1 second'"

    /// An SQL condition: nothing speaks against running the schedule `s` now.
    static let isReached = "(s.silence_seconds IS NULL OR \(limit) <= clock_timestamp())"
}

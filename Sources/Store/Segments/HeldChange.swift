/// SQL about routine changes that wait, because a rule of the policy spaces them out.
package enum HeldChange {
    /// An SQL expression: until when the segment `s` holds back the changes behind a revision; null if they wait for
    /// nothing. They leave together, so one that need not wait takes the others with it.
    package static func until(_ s: String, behind revision: String) -> String {
        """
        (SELECT CASE WHEN bool_and(c.min_interval_seconds IS NOT NULL)
             THEN \(lastPush(of: s)) + min(c.min_interval_seconds) * interval '1 second' END
         FROM changes AS c WHERE c.activity_key = \(s).activity_key AND c.revision > \(revision))
        """
    }

    /// An SQL expression: when the segment `s` last pushed. On a channel, it is not after the oldest of the changes `c`
    /// was accepted. A repeat for late joiners must not hold changes back for longer. If that time is still to come,
    /// because the clock was set back since, the accept counts instead. If the accept is still to come as well, nothing
    /// counts. Neither may move on with the clock.
    private static func lastPush(of s: String) -> String {
        """
        (CASE WHEN \(s).pushed_at <= clock_timestamp()
             THEN least(\(s).pushed_at, CASE \(s).segment WHEN \(SegmentRows.channelSegment) THEN min(c.accepted_at) END)
         WHEN \(s).pushed_at IS NOT NULL AND min(c.accepted_at) <= clock_timestamp() THEN min(c.accepted_at) END)
        """
    }
}

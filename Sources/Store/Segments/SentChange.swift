/// SQL about changes that phones were sent.
package enum SentChange {
    /// The condition that APNs has accepted an update with a change, or may have.
    ///
    /// Of most changes nothing is written when they are sent. The only ring of their activity tells.
    package static func isSent(_ change: String) -> String {
        """
        (\(change).is_sent OR \(change).sent_with_ring AND \(change).merged_into IS NULL AND \(change).revision <= (
            SELECT g.completed_revision FROM segments AS g
            WHERE g.activity_key = \(change).activity_key AND g.segment = \(SegmentRows.firstRing)
        ))
        """
    }
}

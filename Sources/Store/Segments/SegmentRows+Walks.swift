package import ActivityModel
package import Postgres

// How far the worker of a segment has come.
extension SegmentRows {
    /// The statement that stores the progress of a walk, and extends the lease to last as long as `time` from now. If it
    /// `hasFailed`, nobody was reached; `hasSent`: it was not empty. `alertStamp`: the timestamp under which an alert has
    /// left, if one has.
    ///
    /// Revisions that the walk passed before somebody was sent a newer one are merged by now, or left to walks that
    /// pass them later. So this walk does not look at them again: `newestSent` selects the newest revision that somebody
    /// was sent, of those that are newer than ``Carousel/unsentAfter``, or 0.
    package static func acknowledgement(
        _ lease: SegmentLease,
        _ carousel: Carousel,
        hasFailed: Bool,
        hasSent: Bool,
        alertStamp: Timestamp?,
        newestSent: Query,
        leasedFor time: Duration
    ) -> Query {
        """
        UPDATE segments
        SET cursor = \(carousel.cursor), completed_revision = \(carousel.completed),
            lap_revision = \(carousel.lap?.revision), lap_origin = \(carousel.lap?.origin),
            alert_revision = \(carousel.alert?.revision), alert_origin = \(carousel.alert?.origin),
            unsent_after = CASE WHEN \(carousel.unsentAfter != nil) THEN greatest(\(carousel.unsentAfter), least(
                \(carousel.upcoming - 1), (\(part: newestSent))
            )) END,
            failures = CASE WHEN \(hasFailed) THEN failures ELSE 0 END,
            pushed_at = CASE WHEN \(hasSent && !hasFailed) THEN clock_timestamp() ELSE pushed_at END,
            alert_stamp = coalesce(\(alertStamp), alert_stamp),
            lease_until = clock_timestamp() + \(time)
        WHERE activity_key = \(lease.activityKey) AND segment = \(lease.segment)
          AND lease_owner = \(lease.owner)::uuid
        """
    }

    /// The statement that stores what a batch of cards that their own rows serve has changed of a walk: the timestamp
    /// under which an alert has left, if one has, and the revisions that the walk has passed without a push, if a walk is
    /// given. It has a row if the lease holds.
    package static func change(
        alertStamp: Timestamp?,
        _ carousel: Carousel?,
        under lease: SegmentLease
    ) -> Query {
        """
        UPDATE segments
        SET alert_stamp = coalesce(\(alertStamp), alert_stamp),
            unsent_after = CASE WHEN \(carousel != nil) THEN \(carousel?.unsentAfter) ELSE unsent_after END
        WHERE activity_key = \(lease.activityKey) AND segment = \(lease.segment)
          AND lease_owner = \(lease.owner)::uuid
        RETURNING 1
        """
    }
}

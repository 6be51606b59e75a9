package import ActivityModel
package import Postgres

// How far the worker of a segment has come.
extension SegmentRows {
    /// The statement that reads the revision that all rings of an activity have reached at least: each is sending it, or
    /// has sent it or a newer one. With the number of the channel's segment, it reads that of the channel. It is null if
    /// there is no such segment.
    package static func reached(by segment: Int16, of activityKey: Int64) -> Query {
        """
        SELECT min(coalesce(lap_revision, completed_revision)) FROM segments
        WHERE activity_key = \(activityKey) AND (segment >= 0) = \(segment >= 0)
        """
    }

    /// The statement that stores the progress of a walk, and extends the lease to last as long as `time` from now.
    ///
    /// When a newer revision has left, the revisions that the walk passed before it are merged, or another walk passes
    /// them later. So this walk does not look at them again. `newestSent` selects the newest revision that has left and
    /// is newer than ``Carousel/unsentAfter``, or 0.
    ///
    /// - Parameters:
    ///   - lease: The lease of the segment.
    ///   - carousel: The walk.
    ///   - hasFailed: Whether the batch has reached nobody.
    ///   - hasSent: Whether the batch had pushes.
    ///   - alertStamp: The timestamp under which an alert has left, if one has.
    ///   - newestSent: The query described above.
    ///   - time: How long the lease lasts from now.
    /// - Returns: The statement.
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
        WHERE \(part: isHeld(lease))
        """
    }

    /// The statement that stores how catching up has changed a walk. It returns a row if the lease holds.
    ///
    /// - Parameters:
    ///   - alertStamp: The timestamp under which an alert has left, if one has.
    ///   - carousel: The walk, if it has passed revisions without a push.
    ///   - lease: The lease of the segment.
    /// - Returns: The statement.
    package static func change(
        alertStamp: Timestamp?,
        _ carousel: Carousel?,
        under lease: SegmentLease
    ) -> Query {
        """
        UPDATE segments
        SET alert_stamp = coalesce(\(alertStamp), alert_stamp),
            unsent_after = CASE WHEN \(carousel != nil) THEN \(carousel?.unsentAfter) ELSE unsent_after END
        WHERE \(part: isHeld(lease))
        RETURNING 1
        """
    }
}

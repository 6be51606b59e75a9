package import ActivityModel
package import FoundationEssentials
package import Postgres
package import Store

/// The rows of `segments`: claiming, walking on, going to rest.
///
/// What a worker stores of a walk, and of what became of its pushes, names its lease. So a daemon that was paused past its
/// lease changes none of it. A statement that is true whoever runs it, such as a mark that a change was sent, need not name
/// one.
package struct SegmentStore: Sendable {
    package let database: Database
    /// How long a claim or a sign of life lasts.
    package let lease: Duration
    /// How long a daemon that carries half of an activity's rings leaves another ring of it to others.
    let patience: Duration
    /// The most cards that are counted for the repeat of a broadcast.
    let crowd: Int
    /// Identifies the leases of this daemon.
    package let daemon = UUID()

    /// Gives the segments work that was announced with ``SegmentRows``: of several
    /// rings only those that hold the cards.
    package func takeAnnouncements() async throws {
        for _ in 0..<10 {
            let taken = try await takeSomeAnnouncements()
            if taken < Self.announcementsAtOnce { return }
        }
    }

    private static let announcementsAtOnce = 1_000

    /// - Returns: How many there were, of at most ``announcementsAtOnce``.
    private func takeSomeAnnouncements() async throws -> Int {
        let rows = try await database.query(SegmentRows.takeAnnouncements(Self.announcementsAtOnce))
        return try rows.single(Int64.self).map(Int.init) ?? 0
    }

    /// Leases due segments, the longest due first. That is at most `limit` channels and first rings of activities, and
    /// one further ring if the caller `takesFurtherRing`.
    ///
    /// If an activity has several rings, a daemon takes half of them, and leaves the others to other daemons as long as
    /// those may come.
    package func claim(limit: Int, takesFurtherRing: Bool = true) async throws -> [SegmentLease] {
        let claimant = SegmentRows.Claimant(daemon: daemon, lease: self.lease, patience: patience)
        let claim = SegmentRows.claim(limit, takesFurtherRing: takesFurtherRing, for: claimant)
        let rows = try await database.query(claim)
        return try rows.decoded(as: (Int64, Int16, String).self).map {
            SegmentLease(activityKey: $0, segment: $1, owner: $2)
        }
    }

    /// Prolongs the lease, also one that has run out and that nobody has taken, and reads the segment.
    ///
    /// - Throws: ``LeaseLost`` if the lease is another's, or over.
    @discardableResult
    package func renew(_ lease: SegmentLease) async throws -> SegmentProgress {
        try await progress(database.query(renewal(lease)))
    }

    /// The data that a worker reads before each batch.
    package struct Look: Sendable {
        package let progress: SegmentProgress
        package var activity: ActivitySnapshot
        /// The newest change, if it may leave under the stamp that it has.
        package let newest: ChangeToSend?
        /// Nil for a ring.
        package let channel: BroadcastChannel?
    }

    /// The state of the segment and its activity; nil if the activity was deleted. Prolongs the lease, as ``renew(_:)``
    /// does.
    ///
    /// - Throws: ``LeaseLost``.
    package func look(_ lease: SegmentLease) async throws -> Look? {
        let key = lease.activityKey
        // Planning takes three times as long as the rest.
        let results = try await database.pipeline(
            [
                .planningOnce, renewal(lease), ActivitySnapshot.selection(key, for: lease.segment),
                ChangeStore.newest(of: key),
            ] + (lease.isChannel ? [BroadcastChannel.selection(key, crowd: crowd)] : [])
        )
        let progress = try progress(results[1])
        guard let activity = try ActivitySnapshot.read(key, results[2]) else { return nil }
        return Look(
            progress: progress,
            activity: activity,
            newest: try ChangeStore.newest(results[3]),
            channel: lease.isChannel ? try BroadcastChannel.read(results[4]) : nil
        )
    }

    /// The statement that prolongs a lease and selects what ``progress(_:)`` reads.
    private func renewal(_ lease: SegmentLease) -> Query {
        """
        WITH renewed AS (
            \(part: SegmentRows.prolongation(lease, by: self.lease))
        )
        SELECT wakes, cursor, completed_revision, lap_revision, lap_origin, alert_revision, alert_origin, failures,
            after_key, through_key,
            (SELECT count(*) FROM segments AS o
             WHERE o.activity_key = s.activity_key AND \(unescaped: SegmentRows.isRing("o"))) AS rings,
            alert_stamp, unsent_after
        FROM segments AS s
        WHERE \(part: SegmentRows.isHeld(lease, as: "s"))
          AND (\(unescaped: SegmentRows.isLeased("s")) OR EXISTS (SELECT FROM renewed))
        """
    }

    /// Asks what is answered only under a lease that holds; once more if it had run out and nobody has taken it.
    ///
    /// - Throws: ``LeaseLost``; what `ask` throws.
    package func prolonging<Answer>(_ lease: SegmentLease, _ ask: () async throws -> Answer) async throws -> Answer {
        do {
            return try await ask()
        } catch is LeaseLost {
            try await renew(lease)
            return try await ask()
        }
    }

    private func progress(_ rows: Rows) throws -> SegmentProgress {
        guard let row = rows.first else { throw LeaseLost() }
        return SegmentProgress(
            wakes: try row["wakes"],
            carousel: Carousel(
                cursor: try row["cursor"],
                completed: try row["completed_revision"],
                lap: Self.lap(try row["lap_revision"], from: try row["lap_origin"]),
                alert: Self.lap(try row["alert_revision"], from: try row["alert_origin"]),
                unsentAfter: try row["unsent_after"]
            ),
            failures: try row["failures"],
            range: RingRange(after: try row["after_key"], through: try row["through_key"]),
            rings: try row["rings"],
            alertStamp: try row["alert_stamp"]
        )
    }

    /// Whether a worker may begin to send more of a revision: its lease holds, nothing newer has been accepted, and
    /// sending was not halted meanwhile.
    ///
    /// - `isFirst`: none of the pushes that it holds has left yet. Then of newer changes only an end keeps the revision
    ///   back. If updates come fast, there is always a newer one, and no push would ever leave.
    /// - Throws: ``LeaseLost``.
    package func mayGoOn(
        _ lease: SegmentLease,
        with activity: ActivitySnapshot,
        isFirst: Bool = false
    ) async throws -> Bool {
        try await prolonging(lease) {
            try await Self.mayGoOn(database.query(Self.permission(lease, with: activity, isFirst: isFirst)))
        }
    }

    /// The statement that ``mayGoOn(_:with:isFirst:)`` asks, for a transaction that does more.
    package static func permission(_ lease: SegmentLease, with activity: ActivitySnapshot, isFirst: Bool) -> Query {
        """
        SELECT (a.revision = \(activity.newest) OR (\(isFirst) AND a.state = 'live'))
               AND (\(activity.isProbe) OR \(unescaped: isNotHalted))
        FROM segments AS s JOIN activities AS a USING (activity_key)
        WHERE \(part: SegmentRows.isRunning(lease, as: "s"))
        """
    }

    /// Reads the rows of a ``permission(_:with:isFirst:)``.
    ///
    /// - Throws: ``LeaseLost``.
    package static func mayGoOn(_ rows: Rows) throws -> Bool {
        guard let mayGoOn = try rows.single(Bool.self) else { throw LeaseLost() }
        return mayGoOn
    }

    /// An SQL condition: sending does not stand still for the app of the activity `a`.
    package static let isNotHalted = "NOT \(StandingHalt.isFor("a"))"

    private static func lap(_ revision: Int64?, from origin: Int64?) -> Carousel.Lap? {
        guard let revision, let origin else { return nil }
        return Carousel.Lap(revision: revision, origin: origin)
    }

    /// Stores the progress of the walk, together with the other results of a batch. If it `hasFailed`, nobody was
    /// reached, and the failures in a row are still counted; `hasSent`: it was not empty.
    ///
    /// A lease that has expired and was not taken still counts, and is extended. Otherwise the pushes that have left
    /// would leave once more, alerts included. The next owner has to wait for the row, so only one of the two
    /// continues.
    ///
    /// `alertStamp`: the timestamp under which an alert has left, if one has.
    ///
    /// `wakesSeen`: the work is done with it, so the lease ends as by ``rest(_:wakesSeen:hold:)`` unless there was
    /// given more.
    ///
    /// - Returns: Whether the lease has ended.
    /// - Throws: ``LeaseLost``; then nothing of it is stored.
    @discardableResult
    package func acknowledge(
        _ lease: SegmentLease,
        _ carousel: Carousel,
        hasFailed: Bool = false,
        hasSent: Bool = true,
        alertStamp: Timestamp? = nil,
        restingIfStill wakesSeen: Int64? = nil,
        with statements: [Query]
    ) async throws -> Bool {
        try await database.withTransaction { connection in
            let rest = wakesSeen.map { [resting(lease, wakesSeen: $0, hold: nil)] } ?? []
            let results = try await connection.pipeline(
                statements + [acknowledgement(lease, carousel, hasFailed, hasSent, alertStamp)] + rest
            )
            guard results[statements.count].affectedRows > 0 else { throw LeaseLost() }
            return !rest.isEmpty && results[statements.count + 1].affectedRows > 0
        }
    }

    /// Stores the outcome of a batch of cards that their own rows serve. `alertStamp` is as in
    /// ``acknowledge(_:_:hasFailed:hasSent:alertStamp:restingIfStill:with:)``. If a walk is given, only the revisions
    /// that it has passed without a push may have changed.
    ///
    /// - Throws: ``LeaseLost``; then nothing of it is stored.
    package func store(
        _ statements: [Query],
        alertStamp: Timestamp? = nil,
        _ carousel: Carousel? = nil,
        under lease: SegmentLease
    ) async throws {
        try await database.withTransaction { connection in
            // Rows of destinations are locked before the segment's, as
            // ``acknowledge(_:_:hasFailed:hasSent:alertStamp:restingIfStill:with:)`` does.
            let holding: Query =
                if alertStamp != nil || carousel != nil {
                    SegmentRows.change(alertStamp: alertStamp, carousel, under: lease)
                } else {
                    """
                    SELECT 1 FROM segments
                    WHERE \(part: SegmentRows.isHeld(lease))
                    FOR SHARE
                    """
                }
            let results = try await connection.pipeline(statements + [holding])
            guard results.last?.isEmpty == false else { throw LeaseLost() }
        }
    }

    private func acknowledgement(
        _ lease: SegmentLease,
        _ carousel: Carousel,
        _ hasFailed: Bool,
        _ hasSent: Bool,
        _ alertStamp: Timestamp?
    ) -> Query {
        let newestSent: Query = """
            SELECT coalesce(max(n.revision), 0) FROM changes AS n
            WHERE n.activity_key = \(lease.activityKey) AND n.revision > \(carousel.unsentAfter)
              AND \(unescaped: SentChange.isSent("n"))
            """
        return SegmentRows.acknowledgement(
            lease,
            carousel,
            hasFailed: hasFailed,
            hasSent: hasSent,
            alertStamp: alertStamp,
            newestSent: newestSent,
            leasedFor: self.lease
        )
    }
}

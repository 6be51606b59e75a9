import APITypes
import APNSTransport
import ActivityModel
import Postgres
import Store

extension DeviceStory {
    /// Reads what is known of the device in `subject`.
    static func read(_ subject: TimelineSubject, on connection: PostgresConnection) async throws -> DeviceStory {
        var story = DeviceStory(activity: subject.activity, device: subject.device?.facts)
        guard let device = subject.device else { return story }
        let results = try await connection.pipeline([
            start(subject.activityKey, device.key), card(subject.activityKey, device.key),
            channel(subject.activityKey), push(subject.activityKey, device.key), spending(subject, device.key),
        ])
        story.start = try results[0].first.map { try Start($0) }
        story.card = try results[1].first.map { try Card($0) }
        story.channel = try results[2].first(as: (String, String, Int64, String?).self).map {
            state,
            storage,
            sent,
            reason in
            Channel(state: try .stored(state), storage: try .stored(storage), sentRevision: sent, reason: reason)
        }
        story.lastPush = try results[3].first(as: (Int64?, String?, String, PGTimestamp, Int16?).self).map {
            Push(
                revision: $0,
                outcome: $1.flatMap(PushOutcome.Word.init),
                words: $2,
                at: Instant($3),
                priority: $4.map(Int.init)
            )
        }
        story.activity.hasIDAttribute = subject.policy.idAttribute != nil
        let budget = subject.policy.budget
        story.spending = try results[4].first(as: (Int16, String, String, Int64).self).map {
            priority,
            reason,
            budgetClass,
            spent in
            Spending(
                priority: Int(priority),
                reason: reason,
                spent: Int(spent),
                units: budgetClass == BudgetClass.frequent.rawValue ? budget.frequent : budget.ordinary,
                windowSeconds: budget.windowSeconds
            )
        }
        return story
    }

    private static func start(_ activity: Int64, _ device: Int64) -> Query {
        """
        SELECT state::text, attempts, reason, due_at, claimed_at, fell_back FROM starts
        WHERE activity_key = \(activity) AND device_key = \(device)
        """
    }

    private static func card(_ activity: Int64, _ device: Int64) -> Query {
        """
        SELECT s.mode::text, s.state::text, s.reason,
               CASE WHEN \(unescaped: CardStanding.rides("s")) THEN \(unescaped: SegmentRows.sentOnRing)
                   ELSE s.known_revision END AS sent_revision, s.confirmed_revision,
               s.started_at, s.registered_at, s.due_at, s.overdue, s.woken, s.shown_revision, s.shown_at,
               s.pending_since, held.until AS held_until, (
                   SELECT \(unescaped: StandingHalt.makesSuspect("s.rejected_at", of: "a"))
                   FROM activities AS a WHERE a.activity_key = s.activity_key
               ) AS is_suspect
        FROM subscriptions AS s LEFT JOIN LATERAL (
            SELECT \(unescaped: HeldChange.until("g", behind: "coalesce(g.lap_revision, g.completed_revision)")) AS until
            FROM segments AS g
            WHERE s.state = 'riding' AND g.activity_key = s.activity_key AND CASE s.mode
                WHEN 'channel' THEN g.segment = \(SegmentRows.channelSegment) ELSE \(unescaped: SegmentRows.isRing(of: "s")) END
        ) AS held ON held.until > clock_timestamp()
        WHERE s.activity_key = \(activity) AND s.device_key = \(device)
        """
    }

    private static func channel(_ activity: Int64) -> Query {
        """
        SELECT c.state::text, c.storage::text, g.completed_revision, c.reason
        FROM channels AS c JOIN segments AS g USING (activity_key)
        WHERE c.activity_key = \(activity) AND \(unescaped: ChannelStanding.serves("c"))
          AND g.segment = \(SegmentRows.channelSegment)
        """
    }

    private static func push(_ activity: Int64, _ device: Int64) -> Query {
        """
        SELECT revision, outcome, concat_ws(' ', status, reason), at, priority FROM timeline
        WHERE activity_key = \(activity) AND device_key = \(device) AND kind = 'push' AND event IN ('update', 'end')
        ORDER BY at DESC, entry_id DESC LIMIT 1
        """
    }

    /// A phone has one budget for all activities of the app, whatever our ledger thinks of each. What was decided
    /// before its card was there, it did not get.
    private static func spending(_ subject: TimelineSubject, _ device: Int64) -> Query {
        """
        SELECT l.priority, l.reason, l.class::text, (
            SELECT count(*) FROM subscriptions AS o JOIN budget_ledger AS b
                ON b.activity_key = o.activity_key AND b.class = \(unescaped: classOf("o"))
            WHERE o.device_key = s.device_key AND b.priority = 10 AND b.decided_at >= o.started_at
              AND b.decided_at > l.decided_at - \(Duration.seconds(subject.policy.budget.windowSeconds))
              AND b.decided_at <= l.decided_at
        )
        FROM subscriptions AS s CROSS JOIN LATERAL (
            SELECT b.priority, b.reason, b.class, b.decided_at FROM budget_ledger AS b
            WHERE b.activity_key = s.activity_key AND b.class = \(unescaped: classOf("s"))
              AND b.revision = \(subject.activity.newest)
            UNION ALL
            SELECT \(RoutinePriority.number), \(RoutinePriority.reason), \(unescaped: classOf("s")), c.accepted_at
            FROM changes AS c
            WHERE c.activity_key = s.activity_key AND c.revision = \(subject.activity.newest)
              AND \(unescaped: RoutinePriority.isMeant) AND \(unescaped: RoutinePriority.hasLeft)
            LIMIT 1
        ) AS l
        WHERE s.activity_key = \(subject.activityKey) AND s.device_key = \(device)
        """
    }

    /// The budget class of a subscription, as SQL.
    static func classOf(_ subscription: String) -> String {
        """
        (CASE WHEN \(subscription).mode = 'channel' THEN 'channel' WHEN \(subscription).frequent THEN 'frequent'
         ELSE 'ordinary' END)::budget_class
        """
    }
}

extension DeviceStory.Start {
    fileprivate init(_ row: Row) throws {
        state = try .stored(row["state"])
        attempts = try row["attempts"]
        reason = try row["reason"]
        dueAt = try row["due_at"]
        claimedAt = try row["claimed_at"]
        hasFallenBack = try row["fell_back"]
    }
}

extension DeviceStory.Card {
    fileprivate init(_ row: Row) throws {
        mode = try .stored(row["mode"])
        state = try .stored(row["state"])
        reason = try row["reason"]
        sentRevision = try row["sent_revision"]
        confirmedRevision = try row["confirmed_revision"]
        startedAt = try row["started_at"]
        registeredAt = try row["registered_at"]
        dueAt = try row["due_at"]
        isOverdue = try row["overdue"]
        isWoken = try row["woken"]
        isSuspect = try row["is_suspect"]
        heldUntil = try row["held_until"]
        let shownAt: Instant? = try row["shown_at"]
        let shown: Revision = try row["shown_revision"]
        self.shown = shownAt.map { DeviceStory.Shown(revision: shown, at: $0) }
        pendingSince = try row["pending_since"]
    }
}

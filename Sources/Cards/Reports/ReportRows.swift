import APITypes
import ActivityModel
package import Postgres
import Store

/// The statements that store reports of cards of one kind: `subscriptions` has one row for each card.
package struct ReportRows {
    /// The properties that all reports of one statement share.
    package struct Kind: Hashable {
        /// How the cards are reached.
        package enum Reach: Hashable {
            case token, channel, nothing
        }

        package let reach: Reach
        /// Whether they say a generation; one that does not is never stale.
        let hasGeneration: Bool
        /// Whether they name an installation, which numbers the reports of all its cards in one order. Ends need not.
        let hasInstallation: Bool
        /// Whether they, or their starts, tell what the card shows.
        let isNews: Bool
        /// Whether the cards have not begun.
        let isPending: Bool
    }

    let kind: Kind
    /// In the order of activity and device, each pair once.
    let reports: [SettledReport]

    /// Takes reports of one kind, in the order of their cards, each card once.
    package init(kind: Kind, reports: [SettledReport]) {
        self.kind = kind
        self.reports = reports
    }

    private var activityKeys: [Int64] { reports.map(\.key.activityKey) }
    private var deviceKeys: [Int64] { reports.map(\.key.deviceKey) }
    private var generations: [Int64] { reports.map { $0.request.generation ?? 0 } }
    private var revisions: [Int64] { reports.map { $0.revision ?? 0 } }
    private var startTimes: [PGTimestamp?] { reports.map(\.startedAt) }
    private var activityKitIDs: [String?] { reports.map(\.request.activityKitID) }

    private var tokens: [[UInt8]] {
        reports.map { report in
            if case .updateToken(let token) = report.request.report { token.bytes } else { [] }
        }
    }

    /// The statement that stores them, for the transaction that has locked their devices and settled their starts.
    package var statement: Query {
        switch kind.reach {
        case .token: token
        case .channel: channel
        case .nothing: ended
        }
    }

    /// Keeps or makes the row, so that a start that is still on its way to that card does not count as waiting. The end
    /// of one card leaves another card of the same activity on the phone alone.
    private var ended: Query {
        """
        INSERT INTO subscriptions AS s (activity_key, device_key, mode, state, generation, activitykit_id)
        SELECT r.activity_key, r.device_key, 'token', 'over', r.generation, r.activitykit_id
        FROM unnest(\(activityKeys), \(deviceKeys), \(generations), \(activityKitIDs))
            AS r(activity_key, device_key, generation, activitykit_id)
        JOIN activities AS a ON \(unescaped: Query.byKey("a", "r", "activity_key"))
        JOIN devices AS d ON \(unescaped: Query.byKey("d", "r", "device_key"))
        WHERE NOT \(unescaped: Continuations.isOfPastCard)
        ORDER BY r.activity_key, r.device_key
        ON CONFLICT (activity_key, device_key) DO UPDATE
        SET state = 'over', reason = NULL, due_at = NULL, check_at = NULL, leaving = false, pending_since = NULL,
            known_revision = \(unescaped: SegmentRows.sentToCard),
            generation = \(unescaped: Self.newGeneration(kind)),
            activitykit_id = coalesce(EXCLUDED.activitykit_id, s.activitykit_id)
        WHERE s.generation <= \(unescaped: Self.newGeneration(kind)) AND NOT \(unescaped: Self.namesOtherCard)
        """
    }

    /// The generation of the row `s` after a report that is not stale.
    private static func newGeneration(_ kind: Kind) -> String {
        kind.hasGeneration ? "EXCLUDED.generation" : "s.generation"
    }

    /// Whether a report changes the row `s`. One of an older generation does not, because it could erase a newer token.
    /// If the stored card or its token is gone, there is no token to erase. Then a report of another card is taken from an
    /// app that names no installation, because it may count from 1 for each card.
    private static func isNewer(_ kind: Kind) -> String {
        let isInOrder = "s.generation <= \(newGeneration(kind))"
        if kind.hasInstallation { return "(\(isInOrder))" }
        return "(\(isInOrder) OR (s.state IN ('over', 'dead') AND \(namesOtherCard)))"
    }

    /// Whether ActivityKit's id says that a report is of another card than the one `s` that is stored.
    private static let namesOtherCard = "coalesce(s.activitykit_id <> EXCLUDED.activitykit_id, false)"

    /// The row itself serves the new token first. A worker gives the row back to the ring when it has the newest state,
    /// so that a registration during a walk misses no change.
    ///
    /// A card that was started is sent the alert of the newest change if it lacks that change. It is sent no alert that
    /// its start brought. A card that just joined is sent the state without an alert. A card that is to be ended as
    /// soon as it has a token keeps waiting for its end.
    ///
    /// A card that was there before is still owed the alerts that it has not heard. That holds after its token was
    /// rejected. It holds after its token died if the token or ActivityKit's id shows that it is the same card. Without
    /// such proof it may be another card, because the user may have dismissed the first one. An alert of the state that
    /// a card shows counts as heard.
    ///
    /// Without `known_revision` Tally assumes that a card shows what its start or the last accepted push carried. But
    /// the token that this one replaces may have been void for some of those pushes; APNs accepts such pushes all the
    /// same. So Tally sends again what the phone itself did not confirm (``CatchUpTurn``). A card that reports an older
    /// state under the same token also gets the newest one again: that push may be lost, or still on its way.
    ///
    /// A card whose device has left the audience by its topics waits for its end, whatever its app reports. A report of
    /// a card that the backend ends takes it back.
    ///
    /// If another card has the row, this one is ended under the token that it reports.
    ///
    /// A card that has not begun gets only its end, if the policy of its type says so (``PendingUpdates/wait``). The
    /// policy at the time of the report counts. Once the card has begun, Tally sends it the newest state, even if APNs
    /// accepted that before. It is unknown what iOS does with a push to a card that it does not show yet.
    private var token: Query {
        """
        WITH past AS (
            UPDATE continuations AS k
            SET update_token = r.token, generation = greatest(k.generation, r.generation), due_at = clock_timestamp(), failures = 0
            FROM unnest(\(activityKeys), \(deviceKeys), \(tokens), \(generations), \(activityKitIDs))
                AS r(activity_key, device_key, token, generation, activitykit_id)
            WHERE \(unescaped: Query.byKey("k", "r", "activity_key", "device_key"))
              AND k.activitykit_id = r.activitykit_id AND k.handed_over
              AND \(unescaped: kind.hasGeneration ? "k.generation <= r.generation" : "true")
        )
        INSERT INTO subscriptions AS s (activity_key, device_key, mode, state, reason, frequent, update_token, generation,
            known_revision, confirmed_revision, heard_revision, due_at, pending_since, activitykit_id, registered_at,
            started_at, check_at, leaving)
        SELECT a.activity_key, d.device_key, 'token',
               CASE WHEN card.is_held THEN 'withheld'::subscription_state ELSE 'due' END,
               CASE WHEN card.is_held THEN '\(unescaped: WithheldReason.pending)' END,
               d.frequent_pushes_enabled, r.token, r.generation, known.revision, known.revision,
               greatest(a.revision - CASE WHEN known.revision > 0 THEN 1 ELSE 0 END, known.revision),
               CASE WHEN NOT card.is_held THEN clock_timestamp() END, CASE WHEN \(kind.isPending) THEN clock_timestamp() END,
               r.activitykit_id, clock_timestamp(), card.started_at, card.started_at + CASE WHEN \(kind.isPending)
                   THEN \(lifetime) ELSE least(\(lifetime), \(unescaped: StoredPolicy.continueAfter("p"))) END,
               r.leaving OR \(unescaped: Continuations.isLeaving("d.device_key"))
        FROM unnest(
            \(activityKeys), \(deviceKeys), \(tokens), \(generations), \(revisions), \(startTimes), \(activityKitIDs),
            \(reports.map(\.isLeaving))
        ) AS r(activity_key, device_key, token, generation, revision, started_at, activitykit_id, leaving)
        JOIN activities AS a ON \(unescaped: Query.byKey("a", "r", "activity_key"))
        JOIN devices AS d ON \(unescaped: Query.byKey("d", "r", "device_key"))
        JOIN LATERAL (
            SELECT policy FROM activity_types WHERE bundle_id = a.bundle_id AND type_name = a.type_name OFFSET 0
        ) AS p ON true
        CROSS JOIN LATERAL (
            SELECT coalesce(CASE WHEN NOT \(kind.isPending) THEN r.started_at END, clock_timestamp()) AS started_at,
                   \(kind.isPending) AND NOT r.leaving AND a.state <> 'ended'
                       AND \(unescaped: StoredPolicy.holdsPending("p")) AS is_held
        ) AS card
        \(unescaped: Self.known)
        WHERE NOT \(unescaped: Continuations.isOfPastCard)
        ORDER BY r.activity_key, r.device_key
        ON CONFLICT (activity_key, device_key) DO UPDATE
        SET mode = 'token', frequent = EXCLUDED.frequent, update_token = EXCLUDED.update_token,
            generation = \(unescaped: Self.newGeneration(kind)),
            activitykit_id = coalesce(EXCLUDED.activitykit_id, s.activitykit_id),
            registered_at = EXCLUDED.registered_at, contradictions = 0,
            failures = CASE WHEN \(unescaped: Self.isPausing) THEN s.failures ELSE 0 END,
            leaving = s.leaving AND (s.state = 'waiting_for_token'
                OR ((EXCLUDED.leaving OR \(unescaped: Self.hasLeftAudience)) AND NOT \(unescaped: Self.isOtherCard))),
            (state, reason, due_at, pending_since, known_revision, confirmed_revision, heard_revision, started_at, check_at) = (
                SELECT
                    CASE WHEN is_over THEN 'over' WHEN is_held THEN 'withheld' WHEN is_same THEN s.state ELSE 'due' END,
                    CASE WHEN is_over THEN '\(unescaped: OverReason.expired.rawValue)' WHEN is_held THEN EXCLUDED.reason END,
                    CASE WHEN NOT is_over AND NOT is_held AND (NOT is_same OR s.state = 'due') THEN
                        CASE WHEN \(unescaped: Self.isPausing) THEN s.due_at
                            ELSE coalesce(EXCLUDED.due_at, clock_timestamp()) END END,
                    \(unescaped: Self.pendingSince),
                    CASE WHEN is_over THEN greatest(\(unescaped: SegmentRows.sentToCard), EXCLUDED.known_revision)
                        WHEN is_same OR ((NOT is_news OR has_token) AND NOT is_other AND s.mode = 'token') THEN
                            greatest(
                                CASE WHEN s.state = 'riding' AND NOT is_same THEN \(unescaped: SegmentRows.sentOnRing)
                                    ELSE s.known_revision END,
                                CASE WHEN is_news THEN EXCLUDED.known_revision END
                            )
                        ELSE EXCLUDED.known_revision END,
                    CASE WHEN is_news OR is_other THEN EXCLUDED.confirmed_revision ELSE s.confirmed_revision END,
                    greatest(
                        CASE WHEN is_other OR s.mode <> 'token' THEN EXCLUDED.heard_revision
                            WHEN s.state IN ('due', 'rejected') OR (s.state = 'dead' AND (is_named OR has_token))
                                THEN s.heard_revision
                            WHEN s.state = 'riding' THEN \(unescaped: SegmentRows.heardOnRing)
                            WHEN s.state = 'withheld' AND s.pending_since IS NULL THEN \(unescaped: Self.heardWithheld)
                            ELSE EXCLUDED.heard_revision END,
                        CASE WHEN is_news THEN EXCLUDED.known_revision END
                    ),
                    begun.started_at,
                    CASE WHEN NOT is_over THEN begun.started_at + (EXCLUDED.check_at - EXCLUDED.started_at) END
                FROM (
                    SELECT \(unescaped: Self.isOtherCard) AS is_other, \(kind.isNews) AS is_news,
                           coalesce(s.activitykit_id = EXCLUDED.activitykit_id, false) AS is_named,
                           coalesce(s.update_token = EXCLUDED.update_token, false) AS has_token
                ) AS card
                CROSS JOIN LATERAL (
                    SELECT NOT is_other AND \(unescaped: WatchedCard.isExpired) AS is_over,
                           is_other OR \(unescaped: Self.isOrWasPending) AS ages_anew
                ) AS age
                CROSS JOIN LATERAL (
                    SELECT CASE WHEN ages_anew THEN EXCLUDED.started_at
                        WHEN s.state = 'waiting_for_token' THEN least(EXCLUDED.registered_at, s.started_at + \(unescaped: Self.journey))
                        ELSE s.started_at END AS started_at
                ) AS begun
                CROSS JOIN LATERAL (
                    -- One that is to be ended as soon as its token is known has it now.
                    SELECT NOT is_over AND EXCLUDED.state = 'withheld' AND NOT (s.leaving AND s.state = 'waiting_for_token')
                           AS is_held
                ) AS wait
                CROSS JOIN LATERAL (
                    SELECT NOT is_other AND NOT is_news AND s.mode = 'token' AND s.state IN ('riding', 'due')
                               AND s.update_token = EXCLUDED.update_token
                               AND NOT is_held AND \(unescaped: Self.isAsBegunAsBefore) AS is_same
                ) AS report
            )
        WHERE \(unescaped: Self.isNewer(kind))
        """
    }

    /// A revision that does not exist proves nothing: the card may belong to an earlier activity of the same name. So
    /// Tally sends it the newest state, as to a card that has just joined.
    private static let known = """
        CROSS JOIN LATERAL (
            SELECT CASE WHEN r.revision > a.revision THEN 0 ELSE r.revision END AS revision
        ) AS known
        """

    /// Whether the row `s` waits after a failure, and the report brings the same token. Then the pause continues
    /// (promise 2): an app reports its tokens at each launch.
    private static let isPausing = """
        (s.state = 'due' AND s.failures > 0 AND s.mode = 'token'
         AND coalesce(s.update_token = EXCLUDED.update_token, false))
        """

    /// How long a card stays without another report.
    private var lifetime: Duration {
        .seconds(kind.isPending ? CardWatch.pendingSeconds : CardWatch.lifetimeSeconds)
    }

    /// How long after its claim the start of the card `s` may have reached the phone: APNs keeps it so long. The card began
    /// then, at the latest.
    private static let journey = """
        (SELECT \(StoredPolicy.startExpiration("p"))
         FROM activities AS a JOIN activity_types AS p USING (bundle_id, type_name) WHERE a.activity_key = s.activity_key)
        """

    /// Since when the card is pending, after a report.
    private static let pendingSince = """
        CASE WHEN is_other THEN EXCLUDED.pending_since
            WHEN EXCLUDED.pending_since IS NOT NULL THEN coalesce(s.pending_since, EXCLUDED.pending_since) END
        """

    /// Whether the row `s` or the report says that the card has not begun: the 8 hours of a card count from its beginning.
    private static let isOrWasPending = "(s.pending_since IS NOT NULL OR EXCLUDED.pending_since IS NOT NULL)"

    /// Whether a report agrees with the one before whether the card `s` has begun.
    private static let isAsBegunAsBefore = "((s.pending_since IS NULL) = (EXCLUDED.pending_since IS NULL))"

    /// Whether a report is of another card than the stored one `s`. That is so if ActivityKit says so, or the phone has
    /// said that the stored card is gone. It is also so if the 8 hours of the stored card are over and this token is
    /// not its token. If nobody ever reported that card, only a report with ActivityKit's id is of another one: an app that
    /// names its cards knows which have ended.
    private static let isOtherCard = """
        (\(namesOtherCard)
         OR (s.state = 'over' AND s.reason IS DISTINCT FROM '\(OverReason.expired.rawValue)')
         OR (\(WatchedCard.isExpired)
             AND (coalesce(s.update_token <> EXCLUDED.update_token, false)
                  OR (s.update_token IS NULL AND s.activitykit_id IS NULL AND EXCLUDED.activitykit_id IS NOT NULL))
             AND NOT coalesce(s.activitykit_id = EXCLUDED.activitykit_id, false)))
        """

    /// Whether the card `s`, which is to leave, has a start that is to continue it, and its device has left the
    /// audience by its topics. Its report does not concern that start. If the backend has ended the card, the start is
    /// settled.
    private static let hasLeftAudience = """
        EXISTS (
            SELECT FROM continuations AS k CROSS JOIN starts AS o CROSS JOIN activities AS a CROSS JOIN devices AS d
            WHERE k.activity_key = s.activity_key AND k.device_key = s.device_key
              AND k.activitykit_id = s.activitykit_id AND NOT k.handed_over
              AND o.activity_key = s.activity_key AND o.device_key = s.device_key
              AND a.activity_key = s.activity_key AND d.device_key = s.device_key
              AND (o.state = 'cancelled' OR (o.state IN ('claimed', 'unknown') AND NOT \(AudienceCoverage.condition)))
            OFFSET 0)
        """

    /// The newest alert that a withheld card `s` has heard. It is owed no alert of a state that its app could not
    /// decode. That holds even if no worker has found yet that its app can decode the newer states.
    private static let heardWithheld = """
        coalesce((
            SELECT greatest(s.heard_revision, CASE WHEN NOT v.is_withheld THEN v.decodes_from - 1 END)
            FROM activity_app_versions AS v JOIN devices AS d ON v.app_version = \(CardVersions.appVersion)
            WHERE v.activity_key = s.activity_key AND d.device_key = s.device_key
        ), EXCLUDED.heard_revision)
        """

    /// A card that joined its channel after the newest broadcast is owed another one. Cards that join within a second
    /// of each other share it: a broadcast goes to everybody who listens.
    private var channel: Query {
        """
        INSERT INTO subscriptions AS s (activity_key, device_key, mode, state, frequent, generation, known_revision,
            confirmed_revision, due_at, pending_since, activitykit_id, registered_at, started_at, check_at)
        SELECT a.activity_key, d.device_key, 'channel',
               CASE WHEN known.revision < a.revision THEN 'due'::subscription_state ELSE 'riding' END,
               d.frequent_pushes_enabled, r.generation, known.revision, known.revision,
               CASE WHEN known.revision < a.revision THEN clock_timestamp() + interval '1 second' END,
               CASE WHEN \(kind.isPending) THEN clock_timestamp() END,
               r.activitykit_id, clock_timestamp(), card.started_at, card.started_at + \(lifetime)
        FROM unnest(
            \(activityKeys), \(deviceKeys), \(generations), \(revisions), \(startTimes), \(activityKitIDs)
        ) AS r(activity_key, device_key, generation, revision, started_at, activitykit_id)
        JOIN activities AS a ON \(unescaped: Query.byKey("a", "r", "activity_key"))
        JOIN devices AS d ON \(unescaped: Query.byKey("d", "r", "device_key"))
        CROSS JOIN LATERAL (
            SELECT coalesce(CASE WHEN NOT \(kind.isPending) THEN r.started_at END, clock_timestamp()) AS started_at
        ) AS card
        \(unescaped: Self.known)
        WHERE NOT \(unescaped: Continuations.isOfPastCard)
        ORDER BY r.activity_key, r.device_key
        ON CONFLICT (activity_key, device_key) DO UPDATE
        SET mode = 'channel', frequent = EXCLUDED.frequent, update_token = NULL,
            generation = \(unescaped: Self.newGeneration(kind)),
            activitykit_id = coalesce(EXCLUDED.activitykit_id, s.activitykit_id),
            registered_at = EXCLUDED.registered_at, failures = 0, leaving = false,
            (state, reason, due_at, pending_since, known_revision, confirmed_revision, started_at, check_at) = (
                SELECT
                    CASE WHEN is_over THEN 'over' WHEN is_same THEN s.state ELSE EXCLUDED.state END,
                    CASE WHEN is_over THEN '\(unescaped: OverReason.expired.rawValue)' END,
                    CASE WHEN NOT is_over THEN CASE WHEN is_same THEN s.due_at ELSE EXCLUDED.due_at END END,
                    \(unescaped: Self.pendingSince),
                    CASE WHEN is_over THEN greatest(\(unescaped: SegmentRows.sentToCard), EXCLUDED.known_revision)
                        WHEN is_same THEN s.known_revision ELSE EXCLUDED.known_revision END,
                    CASE WHEN is_same THEN s.confirmed_revision ELSE EXCLUDED.confirmed_revision END,
                    CASE WHEN ages_anew THEN EXCLUDED.started_at ELSE s.started_at END,
                    CASE WHEN is_over THEN NULL WHEN ages_anew THEN EXCLUDED.check_at
                        ELSE s.started_at + (EXCLUDED.check_at - EXCLUDED.started_at) END
                FROM (SELECT \(unescaped: Self.isOtherCard) AS is_other) AS card
                CROSS JOIN LATERAL (
                    SELECT NOT is_other AND \(unescaped: WatchedCard.isExpired) AS is_over,
                           is_other OR \(unescaped: Self.isOrWasPending) AS ages_anew,
                           NOT is_other AND \(unescaped: CardStanding.listens("s"))
                               AND \(!kind.isNews) AND \(unescaped: Self.isAsBegunAsBefore) AS is_same
                ) AS report
            )
        WHERE \(unescaped: Self.isNewer(kind))
        """
    }
}

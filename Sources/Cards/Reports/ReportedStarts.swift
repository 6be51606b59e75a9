package import APITypes
package import ActivityModel
package import Postgres
package import Store

/// The starts of reported cards. ``ReportGroup`` settles them before it stores the cards, in its transaction.
package struct ReportedStarts {
    /// A card that a report names.
    package struct Card {
        let key: CardKey
        let request: SubscriptionRequest

        package init(key: CardKey, request: SubscriptionRequest) {
            self.key = key
            self.request = request
        }
    }

    /// A start that a report has settled.
    package struct Start {
        /// The revision of the start. Nil if it left so long ago that iOS has ended its card.
        package let revision: Revision?
        /// When the start left. Nil as for `revision`.
        package let claimedAt: PGTimestamp?
        /// Whether the start has left, however long ago.
        let wasSent: Bool
        /// Whether it was cancelled before this report.
        let wasCancelled: Bool
        /// Whether the card may have to end because its device has left the audience by its topics.
        let endsOnUnfollow: Bool
        /// Whether the card ends, or has ended and is forgotten, because its device left the audience by its topics.
        package fileprivate(set) var isAway: Bool

        fileprivate init(_ row: Row) throws {
            revision = try row["revision"]
            claimedAt = try row["claimed_at"]
            wasSent = try row["was_sent"]
            wasCancelled = try row["was_cancelled"]
            endsOnUnfollow = try row["ends_on_unfollow"]
            isAway = try row["is_forgotten"]
        }
    }

    private let connection: PostgresConnection
    private let cards: [Card]

    /// Takes the reported cards, each once, and the connection of the transaction that stores them.
    package init(connection: PostgresConnection, cards: [Card]) {
        self.connection = connection
        self.cards = cards
    }

    /// Settles the starts of cards that exist, in whatever state (promise 6). A start that is withheld or has failed
    /// might leave later and make a second card. But a card that a start is to continue is not the card of that start.
    /// Nor is one that Tally has ended before the device followed again.
    ///
    /// - Returns: The starts of those cards that have one that was not settled before.
    /// - Throws: `PostgresError`.
    package func settle() async throws -> [CardKey: Start] {
        guard !cards.isEmpty else { return [:] }
        let rows = try await connection.query(
            """
            WITH reported AS MATERIALIZED (
                SELECT s.activity_key, s.device_key, s.state, \(unescaped: Self.isOfForgottenCard) AS is_forgotten
                FROM unnest(
                    \(cards.map(\.key.activityKey)), \(cards.map(\.key.deviceKey)),
                    \(cards.map(\.request.activityKitID)), \(cards.map { $0.request.report == .ended })
                ) AS r(activity_key, device_key, activitykit_id, has_ended)
                JOIN starts AS s ON \(unescaped: Query.byKey("s", "r", "activity_key", "device_key"))
                WHERE s.state <> 'settled' AND NOT \(unescaped: Continuations.isOfOldCard)
                ORDER BY s.activity_key, s.device_key FOR NO KEY UPDATE OF s
            )
            UPDATE starts AS s
            SET state = CASE WHEN r.is_forgotten THEN s.state ELSE 'settled' END,
                due_at = CASE WHEN r.is_forgotten THEN s.due_at END,
                reason = CASE WHEN r.is_forgotten THEN s.reason END
            FROM reported AS r WHERE \(unescaped: Query.byKey("s", "r", "activity_key", "device_key"))
            RETURNING s.activity_key, s.device_key, CASE WHEN \(unescaped: Self.mayShow) THEN s.revision END AS revision,
                CASE WHEN \(unescaped: Self.mayShow) THEN s.claimed_at END AS claimed_at, s.attempts > 0 AS was_sent,
                r.state = 'cancelled' AS was_cancelled, r.is_forgotten, \(unescaped: Self.endsOnUnfollow) AS ends_on_unfollow
            """
        )
        var starts: [CardKey: Start] = [:]
        for row in rows { try starts[CardKey(row)] = Start(row) }
        try await findAway(&starts)
        return starts
    }

    /// An SQL condition: a card that is reported now may be that of the start `s`. iOS has ended an older one.
    private static let mayShow = """
        (s.attempts > 0 AND s.claimed_at > clock_timestamp() - interval '\(CardWatch.lifetimeSeconds) seconds')
        """

    /// An SQL condition: a report `r` tells that a card is gone which Tally had ended and forgotten before the start
    /// `s` was wanted again. Tally takes the revision from the start of a card that it ends, and the next claim sets a
    /// new one.
    private static let isOfForgottenCard = """
        (r.has_ended AND s.state IN ('pending', 'withheld') AND s.attempts > 0 AND s.revision IS NULL
         AND NOT EXISTS (SELECT FROM subscriptions AS c
                         WHERE c.activity_key = s.activity_key AND c.device_key = s.device_key OFFSET 0))
        """

    /// An SQL condition: the policy ends cards on an unfollow, and the device of the start `s` may have unfollowed. `r`
    /// is the start before the report.
    private static let endsOnUnfollow = """
        ((r.state = 'cancelled'
          OR \(TopicFollowing.isAsked(by: "s.activity_key")))
         AND coalesce((
             SELECT \(StoredPolicy.endsOnUnfollow("p"))
             FROM activities AS a JOIN activity_types AS p USING (bundle_id, type_name)
             WHERE a.activity_key = s.activity_key
         ), false))
        """

    /// Finds the cards among the reported ones that end, or have ended, because their devices left the audience by their
    /// topics. Their starts stay cancelled: a device that follows again gets a new card.
    ///
    /// A card that was there when its device left has a row that says so. If its start is not cancelled, the backend
    /// has ended the card, and no start follows. If the reported card continues a card that is to leave, it has to
    /// leave, too.
    ///
    /// Without a row, Tally did not know the card when the device left. Its start was on its way, or the answer to the
    /// start got lost, or the card was ended and forgotten. After that the app may start a card itself. The app says
    /// what such a card shows, and the card stays.
    private func findAway(_ starts: inout [CardKey: Start]) async throws {
        let cards = cards.filter { card in
            guard let start = starts[card.key], start.endsOnUnfollow, !start.isAway else { return false }
            return card.request.report.isByToken || card.request.report == .ended
        }
        guard !cards.isEmpty else { return }
        let keys = cards.map(\.key)
        let wereCancelled = keys.map { starts[$0]?.wasCancelled == true }
        let wereSent = keys.map { starts[$0]?.wasSent == true }
        let haveEnded = cards.map { $0.request.report == .ended }
        let areOwn = cards.map { $0.request.knownRevision != nil }
        let rows = try await connection.query(
            """
            WITH away AS MATERIALIZED (
                SELECT r.activity_key, r.device_key
                FROM unnest(
                    \(keys.map(\.activityKey)), \(keys.map(\.deviceKey)), \(cards.map(\.request.activityKitID)),
                    \(wereCancelled), \(wereSent), \(haveEnded), \(areOwn)
                ) AS r(activity_key, device_key, activitykit_id, was_cancelled, was_sent, has_ended, is_own)
                JOIN activities AS a ON \(unescaped: Query.byKey("a", "r", "activity_key"))
                JOIN devices AS d ON \(unescaped: Query.byKey("d", "r", "device_key"))
                LEFT JOIN LATERAL (
                    SELECT o.leaving, o.state, o.activitykit_id FROM subscriptions AS o
                    WHERE o.activity_key = r.activity_key AND o.device_key = r.device_key OFFSET 0
                ) AS c ON true
                WHERE a.state = 'live' AND CASE
                    WHEN r.has_ended THEN r.was_cancelled AND coalesce(c.leaving AND c.state = 'due', true)
                    WHEN coalesce(c.activitykit_id <> r.activitykit_id, false)
                        THEN c.leaving AND r.was_sent AND \(unescaped: Self.isContinued)
                    WHEN c.state IS NOT NULL THEN c.leaving AND r.was_cancelled
                    WHEN NOT r.was_sent OR (r.was_cancelled AND r.is_own) THEN false
                    ELSE \(unescaped: TopicFollowing.isAsked(by: "a.activity_key"))
                        AND NOT \(unescaped: AudienceCoverage.condition)
                    END
            )
            UPDATE starts AS s SET state = 'cancelled', revision = NULL FROM away AS r
            WHERE \(unescaped: Query.byKey("s", "r", "activity_key", "device_key"))
            RETURNING s.activity_key, s.device_key
            """
        )
        for (activity, device) in try rows.decoded(as: (Int64, Int64).self) {
            starts[CardKey(activityKey: activity, deviceKey: device)]?.isAway = true
        }
    }

    /// An SQL condition: a start that has left is to continue the card `c` of the report `r`.
    private static let isContinued = """
        EXISTS (SELECT FROM continuations AS k
                WHERE k.activity_key = r.activity_key AND k.device_key = r.device_key
                  AND k.activitykit_id = c.activitykit_id AND NOT k.handed_over OFFSET 0)
        """
}

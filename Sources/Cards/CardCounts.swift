import APITypes
package import Postgres
package import Store

/// How many cards of an activity there are of each sort, by what a change may do to them. A dry run counts them before
/// its transaction, so counting holds no lock.
package struct CardCounts: Sendable {
    private struct Sort: Hashable {
        let isFrequent: Bool
        let state: SubscriptionState
        /// Why it is withheld; nil if it is not.
        let withheldReason: String?
        let appVersion: String
    }

    private var cards: [Sort: Int] = [:]

    /// Counts the cards of an activity, `pageSize` of them by one statement.
    package static func read(
        _ activityKey: Int64,
        pageSize: Int,
        from database: Database
    ) async throws -> CardCounts {
        var counts = CardCounts()
        let pages = KeyPages(database: database, size: pageSize)
        try await pages.read(bound: KeyPages.boundOfCards(activityKey)) { page in
            try counts.add(await database.query(count(page, of: activityKey)))
            return true
        }
        return counts
    }

    private static func count(_ page: KeyPages.Page, of activityKey: Int64) -> Query {
        """
        SELECT s.frequent, s.state::text, CASE WHEN s.state = 'withheld' THEN s.reason END,
               \(unescaped: CardVersions.appVersion), count(*)
        FROM subscriptions AS s JOIN devices AS d USING (device_key)
        WHERE s.activity_key = \(activityKey) AND s.device_key > \(page.after) AND s.device_key <= \(page.through)
          AND s.mode = 'token' AND s.state <> 'over'
        GROUP BY 1, 2, 3, 4
        """
    }

    private mutating func add(_ rows: Rows) throws {
        for (isFrequent, state, withheldReason, appVersion, count) in try rows.decoded(
            as: (Bool, String, String?, String, Int64).self
        ) {
            let sort = Sort(
                isFrequent: isFrequent,
                state: try .stored(state),
                withheldReason: withheldReason,
                appVersion: appVersion
            )
            cards[sort, default: 0] += Int(count)
        }
    }

    /// Counts the cards that get a change, by budget, and the others, by their state. An end is never withheld.
    /// `versions` are the rows of ``AppVersionRows/selection(_:)`` as the change leaves them.
    package func split(versions: Rows, isEnd: Bool) throws -> (cards: [BudgetClass: Int], withheld: [String: Int]) {
        var isWithheld: [String: Bool] = [:]
        for (_, version, withheld) in try versions.decoded(as: (Int64, String, Bool).self) {
            isWithheld[version] = withheld && !isEnd
        }
        var cards: [BudgetClass: Int] = [:]
        var withheld: [String: Int] = [:]
        for (sort, count) in self.cards {
            let state: SubscriptionState =
                switch (sort.state, isWithheld[sort.appVersion]) {
                case (.riding, true), (.due, true): .withheld
                case (.withheld, false) where sort.withheldReason == CardVersions.reason: .due
                case (.withheld, _) where isEnd && sort.withheldReason == WithheldReason.pending: .due
                case (let state, _): state
                }
            switch state {
            case .riding, .due: cards[sort.isFrequent ? .frequent : .ordinary, default: 0] += count
            case .waitingForToken, .withheld, .rejected, .dead, .over:
                withheld[state.rawValue, default: 0] += count
            }
        }
        return (cards, withheld)
    }
}

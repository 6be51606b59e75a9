import APITypes
import ActivityModel
import Postgres
import Store

/// How many cards of an activity there are of each sort, by what a change may do to them. Counting takes a while where
/// there are many, so it holds no lock.
struct CardCounts: Sendable {
    private struct Sort {
        let isFrequent: Bool
        let state: SubscriptionState
        /// Withheld because its app could not decode the newest state.
        let isUndecodable: Bool
        let appVersion: String
        let count: Int
    }

    private let sorts: [Sort]

    static func read(_ activityKey: Int64, from database: Database) async throws -> CardCounts {
        let rows = try await database.query(
            """
            SELECT s.frequent, s.state::text, coalesce(s.reason = '\(unescaped: AppVersionRows.reason)', false),
                   \(unescaped: AppVersionRows.appVersion), count(*)
            FROM subscriptions AS s JOIN devices AS d USING (device_key)
            WHERE s.activity_key = \(activityKey) AND s.mode = 'token' AND s.state <> 'over' GROUP BY 1, 2, 3, 4
            """
        )
        return CardCounts(
            sorts: try rows.decoded(as: (Bool, String, Bool, String, Int64).self).map {
                Sort(isFrequent: $0, state: try .stored($1), isUndecodable: $2, appVersion: $3, count: Int($4))
            }
        )
    }

    /// Who is sent a change, by budget, and how many are not, by their state. An end is withheld from nobody;
    /// `versions` are the rows of ``AppVersionRows/selection(_:)`` as the change leaves them.
    func split(versions: Rows, isEnd: Bool) throws -> (cards: [BudgetClass: Int], withheld: [String: Int]) {
        var isWithheld: [String: Bool] = [:]
        for (_, version, withheld) in try versions.decoded(as: (Int64, String, Bool).self) {
            isWithheld[version] = withheld && !isEnd
        }
        var cards: [BudgetClass: Int] = [:]
        var withheld: [String: Int] = [:]
        for sort in sorts {
            let state: SubscriptionState =
                switch (sort.state, isWithheld[sort.appVersion]) {
                case (.riding, true), (.due, true): .withheld
                case (.withheld, false) where sort.isUndecodable: .due
                case (let state, _): state
                }
            switch state {
            case .riding, .due: cards[sort.isFrequent ? .frequent : .ordinary, default: 0] += sort.count
            case .waitingForToken, .withheld, .rejected, .dead, .over:
                withheld[state.rawValue, default: 0] += sort.count
            }
        }
        return (cards, withheld)
    }
}

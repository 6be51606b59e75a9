import ActivityKit

struct GameAttributes: ActivityAttributes, Sendable {
    struct ContentState: Codable, Hashable, Sendable {
        var homeScore: Int
        var awayScore: Int
        /// Minute of play, 0 to 120.
        var minute: Int
        /// For example `firstHalf`, `halfTime`, `extraTimeFirst`, `penalties`, `ended`.
        var period: String
        /// For example `GOAL Messi 23' (pen.)`.
        var lastEvent: String?
        var homePenalties: Int?
        var awayPenalties: Int?
    }

    var homeTeam: String
    var awayTeam: String
    var competition: String?
    /// The id of the activity. Tally fills it (`id_attribute` in the policy), so the app knows which match a card is of.
    var activityId: String
}

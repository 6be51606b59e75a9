/// The sample app's Live Activity: one football match.
///
/// An app passes the same declaration to ActivityKit, so the JSON keys are exactly the Swift names. Optional values may
/// be absent; all others are required.
package struct GameAttributes: LiveActivityAttributes {
    /// The part that changes during the match.
    package struct ContentState: Codable, Hashable, Sendable {
        package var homeScore: Int
        package var awayScore: Int
        /// Minute of play, 0 to 120.
        package var minute: Int
        /// For example `firstHalf`, `halfTime`, `extraTimeFirst`, `penalties`, `ended`.
        package var period: String
        /// For example `GOAL Messi 23' (pen.)`.
        package var lastEvent: String?
        package var homePenalties: Int?
        package var awayPenalties: Int?
    }

    package var homeTeam: String
    package var awayTeam: String
    package var competition: String?
    /// The id of the activity. Tally fills it (`id_attribute` in the policy), so the app knows which match a card is of.
    package var activityId: String
}

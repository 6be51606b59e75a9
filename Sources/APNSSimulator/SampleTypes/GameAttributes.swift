/// The sample app's Live Activity: one football match.
///
/// The declaration is what the app would hand to ActivityKit, so the JSON keys are exactly the Swift names. An
/// optional may be absent; everything else must be there.
package struct GameAttributes: LiveActivityAttributes {
    /// What changes while the match is played.
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

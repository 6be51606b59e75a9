package import APITypes

// The database has the words of the code; the API has plainer ones.
extension SubscriptionState {
    /// The word in the database.
    package var storedWord: String {
        switch self {
        case .riding: "riding"
        case .due: "due"
        case .over: "over"
        case .waitingForToken, .withheld, .rejected, .dead: rawValue
        }
    }

    /// The state for a word that came out of the database.
    package static func stored(_ word: String) throws(UnknownStoredWord) -> SubscriptionState {
        guard let state = allCases.first(where: { $0.storedWord == word }) else {
            throw UnknownStoredWord(type: "\(Self.self)", word: word)
        }
        return state
    }
}

/// All that the properties of ActivityKit say at one moment.
package struct Reading: Hashable, Sendable {
    /// The activity types that were read. Cards of others may be there, too.
    package var types: Set<String>
    package var activitiesEnabled: Bool?
    package var frequentPushesEnabled: Bool?
    /// By activity type. A type without a token is absent, and changes nothing.
    package var startTokens: [String: String]
    package var cards: [SeenCard]

    package init(
        types: Set<String> = [],
        activitiesEnabled: Bool? = nil,
        frequentPushesEnabled: Bool? = nil,
        startTokens: [String: String] = [:],
        cards: [SeenCard] = []
    ) {
        self.types = types
        self.activitiesEnabled = activitiesEnabled
        self.frequentPushesEnabled = frequentPushesEnabled
        self.startTokens = startTokens
        self.cards = cards
    }
}

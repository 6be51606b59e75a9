/// A card as ActivityKit shows it at one moment.
package struct SeenCard: Hashable, Sendable {
    /// ActivityKit's id.
    package let id: String
    /// The id of Tally's activity, as the card's attributes say it.
    package let activity: String
    package let type: String
    package var state: CardState
    /// Its update token as hex text; nil while iOS has given none.
    package var updateToken: String?
    /// Whether the stream of states told it, and has done so since the card was live. Then no state was left out.
    package var isFromStates: Bool
    /// The revision in its content; nil if the content does not say it, or was not read.
    package var revision: Int?

    package init(
        id: String,
        activity: String,
        type: String,
        state: CardState = .active,
        updateToken: String? = nil,
        isFromStates: Bool = false,
        revision: Int? = nil
    ) {
        self.id = id
        self.activity = activity
        self.type = type
        self.state = state
        self.updateToken = updateToken
        self.isFromStates = isFromStates
        self.revision = revision
    }
}

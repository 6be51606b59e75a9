/// What TallyKit keeps on the phone, outside of backups. It belongs to one installation of the app.
package struct Memory: Codable, Hashable, Sendable {
    /// What Tally has confirmed, and when.
    package struct Confirmed: Codable, Hashable, Sendable {
        package let news: News
        package let at: Moment
    }

    /// Apple's mark of the phone at the first launch (`identifierForVendor`). A restored copy meets another.
    package var vendor: String?
    package var deviceID: String
    package var installation: String
    /// Counts the reports of this installation.
    package var generation = 0
    /// Counts sign-ins and sign-outs.
    package var session = 0
    /// Who signed in last, as the app says. It never leaves the phone.
    package var user: String?
    package var signedOut = false
    /// The user who left last, while pushes may still start cards for that user. Empty if the app did not say who it
    /// was.
    package var leaver: String?
    /// Whether Tally may have heard who is signed in. It is stored once the report has left: if the app dies before, the cards
    /// that it finds later may be those of the user before.
    package var hasToldUser = false
    /// For how long pushes that Apple still stored may come, once Tally has confirmed a sign-out.
    package var lateStarts: Pause?
    package var ticket: HeldTicket?
    /// Tally asked to be left alone.
    package var pause: Pause?
    package var facts: PhoneFacts?
    package var confirmedPhone: Confirmed?
    /// What this phone follows, as the app said last; nil if it never did. In order, each once.
    package var topics: [String]?
    /// Topics that Tally may have heard of this phone: what was confirmed last, and all that was sent since.
    package var toldTopics: [String]?
    package var confirmedTopics: Confirmed?
    /// By ActivityKit's id.
    package var cards: [String: Card] = [:]
    package var cardCount = 0
    /// By activity.
    package var confirmedCards: [String: Confirmed] = [:]
    /// Cards that the app is about to start, by activity.
    package var starting: [String: AppStart] = [:]
    /// The share of cards of which Tally wants receipts; nil until Tally has said it.
    package var receiptSampling: Double?
    /// Tally asked to be left alone with receipts.
    package var receiptPause: Pause?
    /// Cards up to this number were there when a user left. They send no receipts.
    package var lastCardOfLeaver: Int?

    package init(vendor: String?, deviceID: String, installation: String) {
        self.vendor = vendor
        self.deviceID = deviceID
        self.installation = installation
    }

    /// The same facts for a phone that Tally does not know yet. The count goes on, so that no two reports have one
    /// number.
    mutating func renew(deviceID: String, installation: String) {
        self.deviceID = deviceID
        self.installation = installation
        ticket = nil
        confirmedPhone = nil
        toldTopics = nil
        confirmedTopics = nil
        confirmedCards = [:]
        for id in cards.keys { cards[id]?.shown?.outcome = nil }
    }
}

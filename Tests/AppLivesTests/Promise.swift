/// A promise that a life broke.
struct BrokenPromise: Error, Hashable, CustomStringConvertible {
    let promise: Promise
    let detail: String

    var description: String { "\(promise.rawValue): \(detail)" }
}

/// What TallyKit promises, and Tally to its cards.
enum Promise: String, CaseIterable, Sendable {
    case startTokenKnown = "Tally knows the start token within one wake"
    case cardKnown = "Tally knows the card's token within one wake"
    case beginningKnown = "Tally knows within one wake whether a card has begun"
    case endKnown = "Tally knows within one wake that a card is gone"
    case userKnown = "Tally knows within one wake who is signed in"
    case oneCard = "an activity has one card"
    case wantedStays = "a card that somebody wants is not ended"
    case staysDismissed = "a dismissed card does not come back"
    case rightCause = "the app is told rightly who ended a card"
    case nothingAfterSignOut = "nothing of a signed-out user stays"
    case twoPhones = "two phones are two devices"
    case receiptTrue = "a receipt says what a card has shown, and since when"
    case receiptKnown = "Tally knows within one wake what a card of the sample shows"
    case continued = "a long activity goes on with a new card, and within five seconds of its report with it alone"
    case notContinued = "a card that was swiped away is not continued"
    case continuationTold = "the app is told that a card has gone which another continues"
    case quiet = "an app that has nothing new to say is quiet"
}

/// What has to happen outside the world after an event in it.
package enum FollowUp: Sendable {
    /// Let the phone's card have its update token after this time.
    case awaitToken(phone: Int, card: Int, milliseconds: Int64)
    /// The app on the phone reports to Tally.
    case report(phone: PhoneProfile, PhoneReport)
    /// Somebody should look at a provider token that Apple might refuse.
    case warn(LooseIssuedAt)
}

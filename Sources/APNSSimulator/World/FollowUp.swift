/// Work outside the world that an event in it causes.
package enum FollowUp: Sendable {
    /// Give the card on the phone its update token after this delay.
    case awaitToken(phone: Int, card: Int, milliseconds: Int64)
    /// Let the app on the phone report to Tally.
    case report(phone: PhoneProfile, PhoneReport)
    /// Warn about a provider token that Apple might refuse.
    case warn(LooseIssuedAt)
}

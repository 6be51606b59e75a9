/// What an answer means for the request and for what it was sent to.
package enum AnswerVerdict: String, Sendable, Hashable, CaseIterable {
    /// APNs took it. Nothing is known of the phone.
    case accepted
    /// The token is no longer active for its topic.
    case tokenDead
    /// APNs does not take this token here: malformed, of the other environment or of another topic.
    case tokenRejected
    /// May be sent again later.
    case retry
    /// The channel does not exist.
    case channelGone
    /// The request itself is wrong and would be refused again.
    case requestInvalid
    /// Key, team, topic or capability: an operator has to act. Says nothing of the token.
    case credential
}

/// What an answer means for the connection that it came on.
package enum ConnectionAdvice: String, Sendable, Hashable, CaseIterable {
    /// Nothing.
    case keep
    /// Use it no more; open another.
    case replace
    /// The same, unless it is young: APNs binds a connection to the apps that the team had when it was made
    /// ("Establishing a connection to APNs"), so that an app of later is refused on it.
    case replaceOld
    /// Its provider token is too old: a new one, on a new connection.
    case renewToken
    /// A new provider token came too soon: stay with the present one.
    case keepToken
}

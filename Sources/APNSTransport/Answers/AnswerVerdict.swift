/// The meaning of an answer for the request, and for its token or channel.
package enum AnswerVerdict: String, Sendable, Hashable, CaseIterable {
    /// APNs accepted the push. Whether the phone received it is unknown.
    case accepted
    /// The token is no longer active for its topic.
    case tokenDead
    /// APNs refuses this token here: it is malformed, or belongs to the other environment or another topic.
    case tokenRejected
    /// A later retry may succeed.
    case retry
    /// The channel does not exist.
    case channelGone
    /// The request itself is wrong, and a retry would be refused too.
    case requestInvalid
    /// Key, team, topic or capability is wrong: an operator must act. The token may be fine.
    case credential
}

/// The consequence of an answer for its connection.
package enum ConnectionAdvice: String, Sendable, Hashable, CaseIterable {
    /// Keep using the connection.
    case keep
    /// Stop using the connection and open another.
    case replace
    /// The same, unless the connection is young. APNs binds a connection to the apps that the team had when it was
    /// opened ("Establishing a connection to APNs"). So an app that was added later is refused on it.
    case replaceOld
    /// The provider token is too old: use a new one on a new connection.
    case renewToken
    /// A new provider token came too soon: keep using the current one.
    case keepToken
}

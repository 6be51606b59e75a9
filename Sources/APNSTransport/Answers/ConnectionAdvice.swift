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

/// Which of a key's provider tokens the connections of a pool carry. Pure.
///
/// A work brings the token that was the newest when it came, and may wait while that is renewed. APNs takes amiss how
/// often the token of a connection changes (`TooManyProviderTokenUpdates`), so the new one goes with those that wait,
/// too, and the old one never comes back.
struct TokenInUse {
    private var current: ProviderToken?
    private var earlier: ProviderToken?

    /// The token to send for a work that brought `token`.
    ///
    /// Not the time of issue tells which is newer: a clock that was wrong may have been set back.
    mutating func inPlace(of token: ProviderToken) -> ProviderToken {
        if token == earlier, let current {
            return current
        }
        if token != current {
            earlier = current
            current = token
        }
        return token
    }
}

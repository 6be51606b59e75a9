/// The provider token that the connections of a pool use. It is pure.
///
/// Work arrives with the newest token of that time, and the token may be renewed while the work waits. APNs complains
/// if the token of a connection changes often (`TooManyProviderTokenUpdates`). So waiting work is also sent with the
/// new token, and the old one is never used again.
struct TokenInUse {
    private var current: ProviderToken?
    private var earlier: ProviderToken?

    /// The token to use for work that arrived with `token`.
    ///
    /// The time of issue cannot show which token is newer, because a wrong clock may have been set back.
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

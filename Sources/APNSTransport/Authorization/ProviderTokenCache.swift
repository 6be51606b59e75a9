/// The cached provider token of one identity in this process. It is pure: time is an argument.
struct ProviderTokenCache {
    /// How to get the token of a request.
    enum Step: Equatable {
        case use(ProviderToken)
        /// Ask the store. If it is unavailable, `meanwhile` is still valid.
        case ask(meanwhile: ProviderToken?)
    }

    /// How long the store is not asked again after it had no new token or was unavailable.
    static let patience = Duration.seconds(60)

    private var held: (token: ProviderToken, issuedAt: ContinuousClock.Instant)?
    /// When the store may be asked again for a newer token.
    private var askAgainAt: ContinuousClock.Instant?
    /// Until when the store counts as informed of Apple's complaint.
    private var complaintKnownUntil: ContinuousClock.Instant?
    /// Until when no other token exists than the one that Apple calls expired.
    private var irreplaceableUntil: ContinuousClock.Instant?

    /// The token for a request that leaves now.
    mutating func next(now: ContinuousClock.Instant) -> Step {
        guard let held, !isOver(now: now) else { return .ask(meanwhile: nil) }
        let age = held.issuedAt.duration(to: now)
        if age >= .seconds(ProviderTokenIssuer.refreshAge), askAgainAt.map({ $0 <= now }) ?? true {
            // One request asks the store; the others continue with the old token.
            askAgainAt = now + Self.patience
            return .ask(meanwhile: held.token)
        }
        return .use(held.token)
    }

    /// The deadline for the store's answer to a request that must finish by `due`. If an old token is still valid, it
    /// is a third of the time, so that an unresponsive store does not cost the request.
    static func patience(
        meanwhile: ProviderToken?,
        until due: ContinuousClock.Instant,
        now: ContinuousClock.Instant
    ) -> ContinuousClock.Instant {
        meanwhile == nil ? due : now + now.duration(to: due) / 3
    }

    /// The next step after Apple has called a request's token expired; `nil` if there is no other token for now.
    mutating func successor(of expired: ProviderToken, now: ContinuousClock.Instant) -> Step? {
        if let held, held.token != expired { return .use(held.token) }
        if let irreplaceableUntil, now < irreplaceableUntil { return nil }
        return .ask(meanwhile: nil)
    }

    /// Records that Apple complained of too many new tokens. Returns whether to inform the store: only once per
    /// complaint, because every batch receives it.
    mutating func tooMany(now: ContinuousClock.Instant) -> Bool {
        if let complaintKnownUntil, now < complaintKnownUntil { return false }
        complaintKnownUntil = now + Self.patience
        return true
    }

    /// Records the store's answer. `expired` is the value from the question.
    mutating func answered(
        _ issued: IssuedProviderToken,
        replacing expired: ProviderToken?,
        now: ContinuousClock.Instant
    ) {
        if issued.token == expired { irreplaceableUntil = now + Self.patience }
        if held?.token != issued.token { askAgainAt = nil }
        held = (issued.token, now - .seconds(issued.age))
    }

    /// Whether the cached token is too old to use.
    func isOver(now: ContinuousClock.Instant) -> Bool {
        guard let held else { return true }
        return held.issuedAt.duration(to: now) >= .seconds(ProviderTokenIssuer.maximumAge)
    }
}

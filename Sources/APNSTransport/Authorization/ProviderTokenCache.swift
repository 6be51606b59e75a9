/// What a sender remembers of one identity's token. Pure: time is an argument.
struct ProviderTokenCache {
    /// What to do for a request.
    enum Step: Equatable {
        case use(ProviderToken)
        /// Ask the store. If it is away, `meanwhile` still serves.
        case ask(meanwhile: ProviderToken?)
    }

    /// How long a store that had nothing new, or was away, is not asked again.
    static let patience = Duration.seconds(60)

    private var held: (token: ProviderToken, issuedAt: ContinuousClock.Instant)?
    /// Until when the store is not asked for a successor.
    private var askAgainAt: ContinuousClock.Instant?
    /// Until when the store knows of Apple's complaint.
    private var complaintKnownUntil: ContinuousClock.Instant?
    /// Until when there is no other token than the one that Apple calls expired.
    private var irreplaceableUntil: ContinuousClock.Instant?

    /// The token for a request that leaves now.
    mutating func next(now: ContinuousClock.Instant) -> Step {
        guard let held, !isOver(now: now) else { return .ask(meanwhile: nil) }
        let age = held.issuedAt.duration(to: now)
        if age >= .seconds(ProviderTokenIssuer.refreshAge), askAgainAt.map({ $0 <= now }) ?? true {
            // One request asks, the others go on.
            askAgainAt = now + Self.patience
            return .ask(meanwhile: held.token)
        }
        return .use(held.token)
    }

    /// Until when the store may take to answer for a request that is to be over by `due`: where a token serves
    /// meanwhile, a third of the time, so that a store that hangs does not cost the request.
    static func patience(
        meanwhile: ProviderToken?,
        until due: ContinuousClock.Instant,
        now: ContinuousClock.Instant
    ) -> ContinuousClock.Instant {
        meanwhile == nil ? due : now + now.duration(to: due) / 3
    }

    /// Apple called a token expired that a request left with. Nil if there is no other for now.
    mutating func successor(of expired: ProviderToken, now: ContinuousClock.Instant) -> Step? {
        if let held, held.token != expired { return .use(held.token) }
        if let irreplaceableUntil, now < irreplaceableUntil { return nil }
        return .ask(meanwhile: nil)
    }

    /// Apple complained of too many new tokens. Whether the store is to be told: every batch hears it, for as long as
    /// it lasts.
    mutating func tooMany(now: ContinuousClock.Instant) -> Bool {
        if let complaintKnownUntil, now < complaintKnownUntil { return false }
        complaintKnownUntil = now + Self.patience
        return true
    }

    /// The store's answer; `expired` as it was asked.
    mutating func answered(
        _ issued: IssuedProviderToken,
        replacing expired: ProviderToken?,
        now: ContinuousClock.Instant
    ) {
        if issued.token == expired { irreplaceableUntil = now + Self.patience }
        if held?.token != issued.token { askAgainAt = nil }
        held = (issued.token, now - .seconds(issued.age))
    }

    /// Whether nothing of it is of use any more.
    func isOver(now: ContinuousClock.Instant) -> Bool {
        guard let held else { return true }
        return held.issuedAt.duration(to: now) >= .seconds(ProviderTokenIssuer.maximumAge)
    }
}

package import ActivityModel
package import JSON

/// A simulated device with one app. It follows Apple's rules for Live Activities on iOS, and its app behaves as a good
/// app should.
///
/// Methods take events and return effects. Time is an argument and random numbers come from a seed, so the same events
/// always lead to the same state.
package struct Phone: Sendable {
    package private(set) var profile: PhoneProfile
    package let limits: PhoneLimits
    /// Keyed by attributes type.
    package private(set) var startTokens: [ActivityTypeName: String] = [:]
    package private(set) var deviceToken: String?
    package internal(set) var cards: [PhoneCard] = []
    package internal(set) var received: [ReceivedPush] = []
    package private(set) var isForceQuit = false
    /// Whether Apple cannot reach the phone.
    package private(set) var isOffline = false
    /// The number of starts that created a card beside a live one of the same activity.
    package internal(set) var secondCards = 0
    /// The times of starts by push that count towards the budget, in milliseconds since 1970.
    var recentStarts: [Int64] = []
    /// The same for pushes at priority 10 to its cards.
    var recentHighPriority: [Int64] = []
    var random: SeededRandom
    private var deviceGeneration: Int64
    private var generations: [ActivityID: Int64] = [:]
    private var launchedAt: Int64 = 0

    package init(profile: PhoneProfile, limits: PhoneLimits) {
        self.profile = profile
        self.limits = limits
        random = SeededRandom(seed: profile.seed)
        deviceGeneration = profile.generationBase
    }

    /// The app starts, gets its tokens and reports everything it knows.
    package mutating func launch(at now: ClockReading) -> [PhoneEffect] {
        isForceQuit = false
        var effects: [PhoneEffect] = []
        if deviceToken == nil {
            launchedAt = now.milliseconds
            let token = random.hex(digits: 64)
            deviceToken = token
            effects.append(.issue(token: token, .device, expiresAt: nil))
        }
        // Push-to-start requires iOS 17.2.
        if profile.takesStartTokens, SystemFeature.pushToStart.isPresent(in: profile.osVersion) {
            for type in profile.types where startTokens[type] == nil {
                effects.append(issueStartToken(type))
            }
        }
        effects.append(reportDevice())
        for card in cards where card.isLive(at: now.milliseconds, limits: limits) && card.link != .awaitingToken {
            effects += reportLink(of: card)
        }
        return effects
    }

    /// The person swipes the app away in the app switcher. Until its next launch it starts and reports nothing.
    package mutating func forceQuit() {
        isForceQuit = true
    }

    /// The phone loses its connection to Apple.
    package mutating func goOffline() {
        isOffline = true
    }

    /// The phone connects to Apple again.
    package mutating func comeOnline() -> [PhoneEffect] {
        guard isOffline else { return [] }
        isOffline = false
        return [.comeOnline]
    }

    /// iOS replaces the start token of a type, as it may at any time. The old token is dead.
    package mutating func rotateStartToken(ofType type: ActivityTypeName, at now: ClockReading) -> [PhoneEffect] {
        guard let old = startTokens[type] else { return [] }
        return [.retire(token: old, since: now.milliseconds), issueStartToken(type), reportDevice()]
    }

    /// iOS gives the app a card's update token, if the card is live and waits for one.
    package mutating func tokenReady(card number: Int, at now: ClockReading) -> [PhoneEffect] {
        guard cards.indices.contains(number), cards[number].link == .awaitingToken,
            cards[number].isLive(at: now.milliseconds, limits: limits)
        else { return [] }
        return issueUpdateToken(card: number, at: now)
    }

    /// iOS replaces the update tokens of an activity's cards; nil: of all cards. The old tokens are dead.
    package mutating func rotateUpdateTokens(
        ofActivity activityID: ActivityID?,
        at now: ClockReading
    ) -> [PhoneEffect] {
        var effects: [PhoneEffect] = []
        for card in cards where activityID == nil || card.activityID == activityID {
            guard case .token(let old) = card.link, card.isLive(at: now.milliseconds, limits: limits) else { continue }
            effects.append(.retire(token: old, since: now.milliseconds))
            effects += issueUpdateToken(card: card.number, at: now)
        }
        return effects
    }

    /// The person opens the activity in the app, and the app starts a card.
    ///
    /// With `channelID`, the card subscribes to a channel (iOS 18). With nil, it gets an update token immediately.
    package mutating func join(
        activityID: ActivityID,
        type: ActivityTypeName,
        channelID: String?,
        contentState: JSONValue?,
        knownRevision: Int64?,
        at now: ClockReading
    ) -> [PhoneEffect] {
        let hasLiveCard = cards.contains {
            $0.activityID == activityID && $0.isLive(at: now.milliseconds, limits: limits)
        }
        guard !hasLiveCard, channelID == nil || SystemFeature.channels.isPresent(in: profile.osVersion) else {
            return []
        }
        if !profile.follows.contains(activityID) {
            profile.follows.append(activityID)
        }
        let number = addCard(
            activityID: activityID,
            type: type,
            startedByPush: false,
            attributesByteCount: 0,
            contentState: contentState,
            at: now
        )
        guard let channelID else { return issueUpdateToken(card: number, at: now, knownRevision: knownRevision) }
        return subscribe(card: number, to: channelID, at: now, knownRevision: knownRevision)
    }

    /// The person swipes a card away. The app reports this to Tally, unless it was force-quit.
    package mutating func swipeAway(activityID: ActivityID, at now: ClockReading) -> [PhoneEffect] {
        var effects: [PhoneEffect] = []
        for card in cards where card.activityID == activityID {
            guard card.isLive(at: now.milliseconds, limits: limits) else { continue }
            cards[card.number].phase = .swipedAway(since: now.milliseconds)
            effects += unlink(card, at: now.milliseconds)
            effects += report(.ended, of: card)
        }
        return effects
    }

    // MARK: Tokens, channels and reports

    mutating func addCard(
        activityID: ActivityID?,
        type: ActivityTypeName,
        startedByPush: Bool,
        attributesByteCount: Int,
        contentState: JSONValue?,
        at now: ClockReading
    ) -> Int {
        let number = cards.count
        var card = PhoneCard(
            number: number,
            activityKitID: random.uuid(uppercased: true),
            activityID: activityID,
            typeName: type,
            startedByPush: startedByPush,
            startedAt: now,
            attributesByteCount: attributesByteCount
        )
        card.contentState = contentState
        cards.append(card)
        return number
    }

    mutating func subscribe(
        card number: Int,
        to channelID: String,
        at now: ClockReading,
        knownRevision: Int64? = nil
    ) -> [PhoneEffect] {
        cards[number].link = .channel(channelID)
        cards[number].linkedSince = now.milliseconds
        return [.subscribe(channelID: channelID, card: number)]
            + reportLink(of: cards[number], knownRevision: knownRevision)
    }

    /// Removes the token or subscription of a card.
    func unlink(_ card: PhoneCard, at milliseconds: Int64) -> [PhoneEffect] {
        switch card.link {
        case .awaitingToken: []
        case .token(let token): [.retire(token: token, since: milliseconds)]
        case .channel(let id): [.unsubscribe(channelID: id, card: card.number)]
        }
    }

    /// The earliest time at which a start push could reach the phone.
    var startableSince: Int64 { launchedAt }

    private mutating func issueStartToken(_ type: ActivityTypeName) -> PhoneEffect {
        // Published push-to-start and update tokens have 160 digits.
        let token = random.hex(digits: 160)
        startTokens[type] = token
        deviceGeneration += 1
        return .issue(token: token, .start(type: type), expiresAt: nil)
    }

    private mutating func issueUpdateToken(
        card number: Int,
        at now: ClockReading,
        knownRevision: Int64? = nil
    ) -> [PhoneEffect] {
        let token = random.hex(digits: 160)
        cards[number].link = .token(token)
        cards[number].linkedSince = now.milliseconds
        let expiry = cards[number].startedAt.milliseconds + limits.lifetime
        return [.issue(token: token, .update(card: number), expiresAt: expiry)]
            + reportLink(of: cards[number], knownRevision: knownRevision)
    }

    private func reportDevice() -> PhoneEffect {
        .report(
            .device(DeviceReport(deviceToken: deviceToken, startTokens: startTokens, generation: deviceGeneration))
        )
    }

    private mutating func reportLink(of card: PhoneCard, knownRevision: Int64? = nil) -> [PhoneEffect] {
        switch card.link {
        case .awaitingToken: []
        case .token(let token): report(.token(token), of: card, knownRevision: knownRevision)
        case .channel(let id): report(.channel(id), of: card, knownRevision: knownRevision)
        }
    }

    private mutating func report(
        _ link: SubscriptionReport.Link,
        of card: PhoneCard,
        knownRevision: Int64? = nil
    ) -> [PhoneEffect] {
        guard let activityID = card.activityID, !isForceQuit else { return [] }
        let generation = (generations[activityID] ?? profile.generationBase) + 1
        generations[activityID] = generation
        let report = SubscriptionReport(
            activityID: activityID,
            link: link,
            activityKitID: card.activityKitID,
            generation: generation,
            knownRevision: knownRevision
        )
        return [.report(.subscription(report))]
    }
}

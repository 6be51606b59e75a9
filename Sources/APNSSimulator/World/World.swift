import ActivityModel
import Cryptography

/// The complete state of Apple and the phones, protected by one lock. It has no clock and does no I/O.
struct World {
    private struct TokenRecord {
        var phone: Int
        var issued: IssuedToken
        var bundleID: String
        /// When the token died because it was replaced or its card is gone, in milliseconds since 1970.
        var retiredSince: Int64?
        /// When the token dies because its activity reaches the age limit, in milliseconds since 1970.
        var expiresAt: Int64?
    }

    private(set) var phones: [Phone] = []
    private var phoneNumbers: [DeviceID: Int] = [:]
    private var tokens: [APNSEnvironment: [String: TokenRecord]] = [:]
    private(set) var channels = ChannelRegistry()
    private(set) var counts = ReceivedPushCounts()
    /// The number of provider tokens with each unusual form.
    private(set) var looseTokens: [LooseIssuedAt: Int] = [:]
    var keys: KeyRing
    var faults: FaultTable
    let limits: PhoneLimits
    private let settings: SimulationSettings
    private var mailbox = Mailbox()
    private var bodies = BodyCache()
    private var random: SeededRandom
    private var sequence: UInt64 = 0

    init(settings: SimulationSettings) {
        keys = KeyRing(refusesUnknownKeys: settings.refusesUnknownKeys)
        faults = FaultTable(seed: settings.seed)
        limits = settings.limits
        self.settings = settings
        random = SeededRandom(seed: settings.seed)
    }

    // MARK: Phones

    func phoneNumber(_ id: DeviceID) -> Int? { phoneNumbers[id] }

    /// Adds a phone and launches its app. An existing phone with this id stays unchanged.
    mutating func addPhone(_ profile: PhoneProfile, at now: ClockReading) -> [FollowUp] {
        guard phoneNumbers[profile.id] == nil else { return [] }
        let number = phones.count
        phoneNumbers[profile.id] = number
        phones.append(Phone(profile: profile, limits: limits))
        return withPhone(number, at: now) { $0.launch(at: now) }
    }

    /// A new seed for a phone without one.
    mutating func makeSeed() -> UInt64 { random.next() }

    /// Changes a phone and applies the effects.
    mutating func withPhone(
        _ number: Int,
        at now: ClockReading,
        _ event: (inout Phone) -> [PhoneEffect]
    ) -> [FollowUp] {
        guard phones.indices.contains(number) else { return [] }
        return apply(event(&phones[number]), of: number, at: now)
    }

    private mutating func apply(_ effects: [PhoneEffect], of number: Int, at now: ClockReading) -> [FollowUp] {
        guard !effects.isEmpty else { return [] }
        let environment = phones[number].profile.environment
        let bundleID = phones[number].profile.bundleID.rawValue
        var followUps: [FollowUp] = []
        for effect in effects {
            switch effect {
            case .issue(let token, let issued, let expiresAt):
                tokens[environment, default: [:]][token] = TokenRecord(
                    phone: number,
                    issued: issued,
                    bundleID: bundleID,
                    expiresAt: expiresAt
                )
            case .retire(let token, let since):
                tokens[environment]?[token]?.retiredSince = since
            case .subscribe(let id, let card):
                channels.subscribe(ChannelRegistry.Subscriber(phone: number, card: card), to: id)
                if settings.givesStoredToLateSubscribers, let mail = channels.stored(id), now.milliseconds < mail.until
                {
                    followUps += arrive(mail.shipment, at: number, .channel(card: card), now)
                }
            case .unsubscribe(let id, let card):
                channels.unsubscribe(ChannelRegistry.Subscriber(phone: number, card: card), from: id)
            case .awaitToken(let card, let milliseconds):
                followUps.append(.awaitToken(phone: number, card: card, milliseconds: milliseconds))
            case .comeOnline:
                followUps += mailbox.take(for: number, at: now).flatMap { mail in
                    arrive(mail.shipment, at: number, mail.destination, now)
                }
            case .report(let report):
                followUps.append(.report(phone: phones[number].profile, report))
            }
        }
        return followUps
    }

    // MARK: Pushes

    /// Parses a payload. Recent equal bytes return the same object.
    mutating func body(_ bytes: [UInt8]) -> PushBody { bodies.body(bytes) }

    /// Parses a request's provider token. Counts an unusual form and returns a warning about it.
    mutating func readToken(_ authorization: String?) -> [FollowUp] {
        guard let form = keys.prepare(authorization) else { return [] }
        looseTokens[form, default: 0] += 1
        return [.warn(form)]
    }

    mutating func count(_ event: String, priority: Int, status: Int, reason: String?) {
        counts.add(event: event, priority: priority, status: status, reason: reason)
    }

    /// Delivers a push to the phone of a live token.
    mutating func deliver(
        _ shipment: Shipment,
        token: String,
        in environment: APNSEnvironment,
        at now: ClockReading
    ) -> [FollowUp] {
        guard let record = tokens[environment]?[token] else { return [] }
        let destination: ArrivingPush.Destination =
            switch record.issued {
            case .device: .device
            case .start(let type): .start(type: type)
            case .update(let card): .token(card: card)
            }
        return send(shipment, from: .token, to: record.phone, destination, at: now)
    }

    /// Delivers a push to every card that follows a channel.
    mutating func broadcast(_ shipment: Shipment, channelID: String, at now: ClockReading) -> [FollowUp] {
        let source = Mailbox.Source.channel(channelID)
        if channels.storage(of: channelID) == .mostRecent,
            let until = Mailbox.keepsUntil(shipment, from: source, at: now)
        {
            // `destination` is a placeholder: the card of a later subscriber is not known yet.
            channels.store(Mail(shipment: shipment, destination: .device, until: until), on: channelID)
        }
        return channels.subscribers(channelID).flatMap { subscriber in
            send(shipment, from: source, to: subscriber.phone, .channel(card: subscriber.card), at: now)
        }
    }

    /// Delivers a push to a phone. If the phone is offline, stores the push if Apple would.
    private mutating func send(
        _ shipment: Shipment,
        from source: Mailbox.Source,
        to number: Int,
        _ destination: ArrivingPush.Destination,
        at now: ClockReading
    ) -> [FollowUp] {
        guard phones[number].isOffline else { return arrive(shipment, at: number, destination, now) }
        if case .channel(let id) = source, channels.storage(of: id) == .none { return [] }
        if let until = Mailbox.keepsUntil(shipment, from: source, at: now) {
            let mail = Mail(shipment: shipment, destination: destination, until: until)
            mailbox.keep(mail, from: source, for: number)
        }
        return []
    }

    private mutating func arrive(
        _ shipment: Shipment,
        at number: Int,
        _ destination: ArrivingPush.Destination,
        _ now: ClockReading
    ) -> [FollowUp] {
        sequence += 1
        var push = ArrivingPush(
            sequence: sequence,
            body: shipment.body,
            priority: shipment.priority,
            destination: destination
        )
        if case .channel(let id) = shipment.body.input {
            let profile = phones[number].profile
            let state = channels.state(id, bundleID: profile.bundleID.rawValue, environment: profile.environment)
            if case .registered = state {} else { push.channelExists = false }
        }
        return apply(phones[number].receive(push, at: now), of: number, at: now)
    }

    // MARK: Channels and ids

    mutating func createChannel(bundleID: String, environment: APNSEnvironment, storage: ChannelStorage) -> String {
        let bytes = [random.next(), random.next()].flatMap { word in
            (0..<8).map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) }
        }
        let id = Base64.encode(bytes)
        channels.create(id: id, bundleID: bundleID, environment: environment, storage: storage)
        return id
    }

    mutating func deleteChannel(_ id: String) {
        channels.delete(id)
    }

    mutating func makeMessageID() -> String { random.uuid() }

    /// The id of the phone that has a token.
    func owner(ofToken token: String, in environment: APNSEnvironment) -> DeviceID? {
        tokens[environment]?[token].map { phones[$0.phone].profile.id }
    }
}

extension World: RulesWorld {
    func credential(_ authorization: String?) -> Credential { keys.credential(authorization) }

    func token(_ hex: String, environment: APNSEnvironment, at milliseconds: Int64) -> KnownTokenState {
        guard let record = tokens[environment]?[hex] else { return .unknown }
        let use: KnownTokenState.Use =
            switch record.issued {
            case .device: .device
            case .start: .start
            case .update: .update
            }
        if let since = record.retiredSince, milliseconds >= since {
            return .dead(bundleID: record.bundleID, use: use, .unregistered, since: since)
        }
        if let since = record.expiresAt, milliseconds >= since {
            return .dead(bundleID: record.bundleID, use: use, .expired, since: since)
        }
        return .live(bundleID: record.bundleID, use: use)
    }

    func channel(_ id: String, bundleID: String, environment: APNSEnvironment) -> KnownChannelState {
        channels.state(id, bundleID: bundleID, environment: environment)
    }

    var channelLimit: Int { settings.channelLimit }
    var answersAsDocumented: Bool { settings.answersAsDocumented }

    func hasBroadcast(bundleID: String) -> Bool { !settings.withoutBroadcast.contains(bundleID) }

    func channelCount(bundleID: String, environment: APNSEnvironment) -> Int {
        channels.list(bundleID: bundleID, environment: environment).count
    }
}

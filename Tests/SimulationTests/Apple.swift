import ActivityModel
import JSON
import Synchronization
import TestSupport

@testable import APNSTransport
@testable import Delivery

/// Apple and the phones: takes pushes, answers them, loses, delays and refuses some by chance, and hands the others on.
///
/// Every decision comes from one seeded generator, in the order in which pushes come.
final class Apple: Sendable {
    /// One push that left a daemon that was alive.
    struct Sent: Sendable {
        let daemon: String
        /// The token, or the channel.
        let destination: String
        let push: ArrivedPush
        let priority: PushPriority
        let outcome: PushOutcome
        /// When it left, milliseconds since 1970.
        let at: Int64
        /// The same by a clock that nobody sets.
        let uptime: Int64
        /// Which turn of a daemon it belongs to.
        let turn: Turn
    }

    struct State {
        var random: SeededRandom
        var phones: [Phone] = []
        /// By their tokens.
        var fans: [String: Fan] = [:]
        var sent: [Sent] = []
        /// What Apple took and has not handed on yet.
        var late: [(destination: String, push: ArrivedPush)] = []
        /// Until when a start may be handed on, seconds since 1970, by its stamp and destination.
        var startsExpire: [String: Int64] = [:]
        var areFaultsOn = true
        /// Whether statements may be slow, or wait for locks.
        var isHindered = false
        /// A wrong key or topic: no token is taken.
        var isStorm = false
        /// Nothing is taken for the moment.
        var isOutage = false
        /// Turns whose daemon died or lost its lease: nobody knows what of them was stored.
        var brokenTurns: Set<Int> = []
        /// When daemons died, as ``uptime``.
        var deaths: [String: Int64] = [:]
        /// Milliseconds since 1970, as the database has it.
        var now: Int64 = 0
        /// Milliseconds since the beginning, by a clock that nobody sets.
        var uptime: Int64 = 0
        /// Tokens that were replaced, and when.
        var replaced: [String: Int64] = [:]
        var channels: [String: Bool] = [:]
        /// Those of ``channels`` that nobody deleted.
        var lostChannels: Set<String> = []
        /// Tokens that were answered with 410.
        var diedAt: [String: Int64] = [:]
        var rejected: Set<String> = []
        var made = 0
        var deletedChannels = 0
        /// What happened, in order; equal for equal seeds.
        var story: [String] = []
    }

    let state: Mutex<State>

    /// Where some are `silent`, their apps never report a card that listens to a channel.
    init(seed: UInt64, phones: Int, silent: Bool) {
        let phones = (1...phones).map { Phone(number: $0, reportsChannels: !silent || $0.isMultiple(of: 4)) }
        state = Mutex(State(random: SeededRandom(seed: seed), phones: phones))
    }

    func with<R: Sendable>(_ body: (inout State) -> sending R) -> R { state.withLock { body(&$0) } }
}

extension Apple.State {
    /// What becomes of a push to a token.
    mutating func take(_ push: ArrivedPush, token: String) -> PushOutcome {
        if isOutage { return refusal() }
        if isStorm {
            rejected.insert(token)
            return PushOutcome(.tokenRejected, status: 400, reason: "BadDeviceToken")
        }
        if fans[token] != nil { return answer(push, token) }
        guard isCurrent(token) else {
            if let died = replaced[token] {
                // Apple may know of it, or learn of it later.
                guard Bool.random(using: &random) else { return PushOutcome(.accepted, status: 200) }
                diedAt[token] = died
                return PushOutcome(.tokenDead(at: died), status: 410, reason: "Unregistered")
            }
            rejected.insert(token)
            return PushOutcome(.tokenRejected, status: 400, reason: "BadDeviceToken")
        }
        return answer(push, token)
    }

    /// What becomes of a push to a channel.
    mutating func broadcast(_ push: ArrivedPush, channel: String) -> PushOutcome {
        if isOutage { return refusal() }
        guard channels[channel] == true else {
            return PushOutcome(.channelGone, status: 404, reason: "ChannelNotRegistered")
        }
        return answer(push, channel)
    }

    private mutating func refusal() -> PushOutcome {
        switch Int.random(in: 0..<3, using: &random) {
        case 0: PushOutcome(.notSent, detail: "connection refused")
        case 1: PushOutcome(.retry, status: 429, reason: "TooManyRequests")
        default: PushOutcome(.retry, status: 503, reason: "ServiceUnavailable")
        }
    }

    private mutating func answer(_ push: ArrivedPush, _ destination: String) -> PushOutcome {
        guard areFaultsOn else {
            handOn(push, destination)
            return PushOutcome(.accepted, status: 200)
        }
        // What matters of a channel are cards that come after a broadcast.
        if push.event == "start", push.channel != nil, Bool.random(using: &random) {
            late.append((destination, push))
            return PushOutcome(.accepted, status: 200)
        }
        switch Int.random(in: 0..<100, using: &random) {
        case ..<4: return PushOutcome(.notSent, detail: "connection refused")
        case ..<8: return PushOutcome(.retry, status: 429, reason: "TooManyRequests")
        case ..<12: return PushOutcome(.retry, status: 503, reason: "ServiceUnavailable")
        case ..<15: return PushOutcome(.unknown, detail: "no answer")
        case ..<20:
            handOn(push, destination)
            return PushOutcome(.unknown, detail: "no answer")
        // Of a large crowd none is late: nobody would tell them apart.
        case ..<35 where fans[destination] == nil:
            late.append((destination, push))
            return PushOutcome(.accepted, status: 200)
        default:
            handOn(push, destination)
            return PushOutcome(.accepted, status: 200)
        }
    }

    /// Hands one of the late pushes on, any of them.
    mutating func handOnLate() {
        guard !late.isEmpty else { return }
        let (destination, push) = late.remove(at: Int.random(in: 0..<late.count, using: &random))
        if push.event == "start", let end = startsExpire["\(push.timestamp) \(destination)"], now > end * 1_000 {
            return note("a start for \(destination) has expired")
        }
        handOn(push, destination)
    }

    private mutating func handOn(_ push: ArrivedPush, _ destination: String) {
        if fans[destination]?.take(push) != nil { return }
        for phone in phones.indices {
            if push.event == "start" {
                if phones[phone].startToken == destination {
                    phones[phone].show(push, channel: push.channel, at: uptime)
                }
                continue
            }
            for card in phones[phone].cards.indices
            where phones[phone].cards[card].updateToken == destination
                || phones[phone].cards[card].channel == destination
            {
                phones[phone].take(push, at: card, uptime: uptime)
            }
        }
    }

    private func isCurrent(_ token: String) -> Bool {
        phones.contains { phone in
            phone.startToken == token || phone.cards.contains { $0.updateToken == token && !$0.isGone }
        }
    }

    /// Apple forgets a channel: all were deleted when the capability was switched off for a moment, say.
    mutating func loseChannel() -> String? {
        guard let channel = channels.filter(\.value).keys.sorted().randomElement(using: &random) else { return nil }
        channels[channel] = false
        lostChannels.insert(channel)
        for phone in phones.indices {
            for card in phones[phone].cards.indices where phones[phone].cards[card].channel == channel {
                phones[phone].cards[card].isKnown = false
            }
        }
        return channel
    }

    mutating func rotateStartToken(of phone: Int) {
        replaced[phones[phone].startToken] = now
        phones[phone].rotateStartToken()
    }

    mutating func rotateUpdateToken(of phone: Int, card: Int) {
        guard let old = phones[phone].cards[card].updateToken else { return }
        replaced[old] = now
        phones[phone].rotateUpdateToken(of: card)
    }

    mutating func swipeAway(phone: Int, card: Int) {
        phones[phone].cards[card].isGone = true
        if let token = phones[phone].cards[card].updateToken { replaced[token] = now }
    }
}

/// The way from one daemon to Apple. It is cut when the daemon dies.
struct Line: PushSender {
    let apple: Apple
    let daemon: String
    let isUp: @Sendable () -> Bool

    private static let cut = PushOutcome(.unknown, detail: "the daemon is dead")

    func send(_ batch: PushBatch) async -> BatchOutcome {
        guard isUp(), let push = Self.read(batch.body) else {
            return BatchOutcome(count: batch.tokens.count, allAre: Self.cut)
        }
        let (outcomes, delay) = apple.with { state in
            let outcomes = (0..<batch.tokens.count).map { index in
                let token = String(decoding: batch.tokens[index], as: UTF8.self)
                if push.event == "start" {
                    state.startsExpire["\(push.timestamp) \(token)"] = batch.headers.expiration
                }
                let outcome = state.take(push, token: token)
                state.note(daemon, token, push, batch.headers.priority, outcome)
                return outcome
            }
            return (outcomes, Int.random(in: 0...3, using: &state.random))
        }
        // Batches that left side by side are answered in any order. What a daemon does with an answer waits at its
        // gate.
        for _ in 0..<delay { await Task.yield() }
        let exceptions = outcomes.enumerated().compactMap { index, outcome in
            outcome.isAccepted ? nil : BatchOutcome.Exception(index: index, outcome: outcome)
        }
        return BatchOutcome(accepted: outcomes.count - exceptions.count, exceptions: exceptions)
    }

    func broadcast(_ push: BroadcastPush) async -> PushOutcome {
        guard isUp(), let arrived = Self.read(push.body) else { return Self.cut }
        return apple.with { state in
            let channel = push.channelID.rawValue
            let outcome = state.broadcast(arrived, channel: channel)
            state.note(daemon, channel, arrived, push.priority, outcome)
            return outcome
        }
    }

    func createChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        storage: ChannelStorage
    ) async -> ChannelCreationOutcome {
        guard isUp() else { return .failed(Self.cut) }
        return apple.with { state in
            let chance = state.areFaultsOn ? Int.random(in: 0..<100, using: &state.random) : 100
            if chance < 10 {
                return .failed(PushOutcome(.retry, status: 503, reason: "ServiceUnavailable"))
            }
            state.made += 1
            let id = "channel\(state.made)"
            state.channels[id] = true
            return chance < 15 ? .failed(PushOutcome(.unknown)) : .created(APNSChannelID(stored: id))
        }
    }

    func readChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        channelID: APNSChannelID
    ) async -> ChannelReadingOutcome {
        guard isUp() else { return .failed(Self.cut) }
        return apple.with { state in state.channels[channelID.rawValue] == true ? .found(.mostRecent) : .gone }
    }

    func listChannels(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID
    ) async -> ChannelListOutcome {
        guard isUp() else { return .failed(Self.cut) }
        return apple.with { state in
            .listed(state.channels.filter(\.value).keys.sorted().map { APNSChannelID(stored: $0) })
        }
    }

    func deleteChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        channelID: APNSChannelID
    ) async -> ChannelDeletionOutcome {
        guard isUp() else { return .failed(Self.cut) }
        return apple.with { state in
            guard state.channels[channelID.rawValue] == true else { return .alreadyGone }
            state.channels[channelID.rawValue] = false
            state.deletedChannels += 1
            return .deleted
        }
    }

    func endpoint(_ environment: APNSEnvironment, _ api: APNSAPI) -> APNSEndpoint {
        APNSEndpoints.standard(environment, api)
    }

    func reach(_ environment: APNSEnvironment, _ api: APNSAPI, deadline: Duration) async -> ReachabilityOutcome {
        isUp() ? .reached(.zero) : .failed(.unreachable, detail: "the network is cut")
    }

    private static func read(_ body: [UInt8]) -> ArrivedPush? {
        guard let aps = (try? JSONValue.parse(body))?.object?["aps"]?.object,  // what is no JSON is no push of Tally's
            let event = aps["event"]?.string, let timestamp = aps["timestamp"]?.int64
        else { return nil }
        return ArrivedPush(
            event: event,
            content: aps["content-state"]?.object.flatMap(content),
            timestamp: timestamp,
            alert: aps["alert"]?.object?["title"]?.string,
            channel: aps["input-push-channel"]?.string
        )
    }

    private static func content(_ state: JSONObject) -> ArrivedPush.Content? {
        guard let match = state["match"]?.string, let score = state["score"]?.int64 else { return nil }
        return ArrivedPush.Content(match: match, score: score, hasMinute: state["minute"] != nil)
    }
}

extension Apple.State {
    mutating func note(_ text: String) {
        story.append("\(Double(now - VirtualClock.beginning) / 1_000) \(text)")
    }

    mutating func note(
        _ daemon: String,
        _ destination: String,
        _ push: ArrivedPush,
        _ priority: PushPriority,
        _ outcome: PushOutcome
    ) {
        let alert = push.alert.map { " with '\($0)'" } ?? ""
        let sender = Stage.actor?.description ?? daemon
        let score = push.content.map { String($0.score) } ?? "without a state"
        if fans[destination] == nil {
            note("\(sender) sends \(push.event) \(score) at \(push.timestamp)\(alert) to \(destination): \(outcome)")
        }
        sent.append(
            Apple.Sent(
                daemon: daemon,
                destination: destination,
                push: push,
                priority: priority,
                outcome: outcome,
                at: now,
                uptime: uptime,
                turn: Turn.current
            )
        )
    }
}

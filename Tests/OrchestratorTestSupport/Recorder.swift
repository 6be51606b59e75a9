package import APNSTransport
package import ActivityModel
package import JSON
import Delivery
import Synchronization
import Testing

/// A sender that writes down what leaves and answers by a script: by what is said of a destination, else "accepted".
///
/// What a real transport and a real phone make of it is tested end to end with the simulator; here it is about which
/// pushes leave, and what becomes of which answer.
package final class Recorder: PushSender {
    /// One push that left.
    package struct Push: Sendable {
        /// The token in hex, or the channel id.
        package let destination: String
        package let environment: APNSEnvironment
        package let topic: String
        package let type: PushType
        package let priority: PushPriority
        package let expiration: Int64?
        package let bytes: [UInt8]
        package let body: JSONValue
        /// As the body says, plus the time that the test has let pass.
        package let timestamp: Timestamp
        /// Which call of ``PushSender`` it belongs to.
        package let call: Int

        package var aps: JSONObject { body.object?["aps"]?.object ?? JSONObject() }
        package var event: String? { aps["event"]?.string }
        package var score: Int64? { aps["content-state"]?.object?["score"]?.int64 }
        package var alert: String? { aps["alert"]?.object?["title"]?.string }
    }

    fileprivate struct State {
        var pushes: [Push] = []
        var calls = 0
        var answers: [String: [PushOutcome]] = [:]
        var standing: PushOutcome?
        var offset: Timestamp = 0
        var gate: Gate?
        /// A gate for every push to this environment.
        var gateOfPlace: (environment: APNSEnvironment, gate: Gate)?
        /// A gate for the next call with a push to this token or channel alone.
        var gateOfOne: (destination: String, gate: Gate)?
        var watchers: [Watcher] = []
        var creations: [ChannelCreationOutcome] = []
        var created = 0
        var deleted: [APNSChannelID] = []
        var deletions: [ChannelDeletionOutcome] = []
        /// The channels that Apple has, in the order of their creation; all in production.
        var channels: [APNSChannelID] = []
        var lists: [ChannelListOutcome] = []
        var readings: [ChannelReadingOutcome] = []
        var obstacles: [String: ReachabilityOutcome] = [:]
    }

    fileprivate struct Watcher {
        let isDone: ([Push]) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private let state = Mutex(State())

    package init() {}

    // MARK: The script

    /// The next pushes to a destination are answered like this, one after the other.
    package func answer(_ destination: String, with outcomes: PushOutcome...) {
        state.withLock { $0.answers[destination, default: []] += outcomes }
    }

    /// Every push that has no answer of its own is answered like this from now on; nil: accepted.
    package func answerAll(with outcome: PushOutcome?) {
        state.withLock { $0.standing = outcome }
    }

    /// The next wishes for a channel are answered like this; then each gets a channel.
    package func answerCreation(with outcomes: ChannelCreationOutcome...) {
        state.withLock { $0.creations += outcomes }
    }

    package func answerDeletion(with outcomes: ChannelDeletionOutcome...) {
        state.withLock { $0.deletions += outcomes }
    }

    package func answerList(with outcomes: ChannelListOutcome...) {
        state.withLock { $0.lists += outcomes }
    }

    package func answerReading(with outcomes: ChannelReadingOutcome...) {
        state.withLock { $0.readings += outcomes }
    }

    /// One of the APIs cannot be reached from now on.
    package func block(_ environment: APNSEnvironment, _ api: APNSAPI, _ obstacle: ReachabilityOutcome.Obstacle) {
        state.withLock { $0.obstacles["\(environment) \(api)"] = .failed(obstacle, detail: "blocked") }
    }

    /// Apple has a channel that this sender did not ask for.
    package func addChannel(_ id: String) {
        state.withLock { $0.channels.append(APNSChannelID(stored: id)) }
    }

    /// Apple has a channel no more that nobody deleted.
    package func loseChannel(_ id: String) {
        state.withLock { state in state.channels.removeAll { $0.rawValue == id } }
    }

    /// Lets every call from now on wait at a gate, after it was written down.
    package func close() -> Gate {
        let gate = Gate()
        state.withLock { $0.gate = gate }
        return gate
    }

    /// Lets the next call with a push to a token or a channel wait at a gate, after it was written down.
    package func close(for destination: String) -> Gate {
        let gate = Gate()
        state.withLock { $0.gateOfOne = (destination, gate) }
        return gate
    }

    /// Lets every push to an environment, and every wish for a channel there, wait at a gate, after it was written down.
    package func close(_ environment: APNSEnvironment) -> Gate {
        let gate = Gate()
        state.withLock { $0.gateOfPlace = (environment, gate) }
        return gate
    }

    /// Ends the waiting at gates.
    package func open() {
        let gate = state.withLock { state in
            defer { state.gate = nil }
            return state.gate
        }
        gate?.open()
    }

    package func passTime(_ seconds: Int64) {
        state.withLock { $0.offset += seconds }
    }

    // MARK: What left

    package var pushes: [Push] { state.withLock { $0.pushes } }
    package var createdChannels: Int { state.withLock { $0.created } }
    package var deletedChannels: [APNSChannelID] { state.withLock { $0.deleted } }
    /// The channels that Apple has.
    package var channels: [String] { state.withLock { $0.channels.map(\.rawValue) } }

    package func pushes(to destination: String) -> [Push] { pushes.filter { $0.destination == destination } }

    /// What left since the last call, in the order of leaving.
    package func take() -> [Push] {
        state.withLock { state in
            defer { state.pushes = [] }
            return state.pushes
        }
    }

    /// Returns when what has left fulfils a condition.
    package func wait(until isDone: @escaping @Sendable ([Push]) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isAlreadyDone = state.withLock { state in
                if isDone(state.pushes) { return true }
                state.watchers.append(Watcher(isDone: isDone, continuation: continuation))
                return false
            }
            if isAlreadyDone { continuation.resume() }
        }
    }

    private func tellWatchers() {
        let done = state.withLock { state in
            let done = state.watchers.filter { $0.isDone(state.pushes) }
            state.watchers.removeAll { $0.isDone(state.pushes) }
            return done
        }
        for watcher in done { watcher.continuation.resume() }
    }

    // MARK: PushSender

    package func send(_ batch: PushBatch) async -> BatchOutcome {
        let tokens = (0..<batch.tokens.count).map { String(decoding: batch.tokens[$0], as: UTF8.self) }
        let (outcomes, gate) = state.withLock { state in
            state.calls += 1
            for token in tokens {
                state.record(
                    token,
                    batch.environment,
                    batch.headers.topic,
                    batch.headers.pushType,
                    batch.headers.priority,
                    batch.headers.expiration,
                    batch.body
                )
            }
            return (tokens.map { state.nextAnswer($0) }, state.takeGate(for: tokens, in: batch.environment))
        }
        tellWatchers()
        await gate?.pass()
        let exceptions = outcomes.enumerated().compactMap { index, outcome in
            outcome.flatMap { $0.isAccepted ? nil : BatchOutcome.Exception(index: index, outcome: $0) }
        }
        return BatchOutcome(
            accepted: tokens.count - exceptions.count,
            exceptions: exceptions,
            receipts: batch.wantsReceipts ? tokens.enumerated().map(Self.receipt) : []
        )
    }

    /// The receipt of a push, in a batch that wants them.
    private static func receipt(_ index: Int, _ token: String) -> BatchOutcome.Receipt {
        BatchOutcome.Receipt(index: index, apnsID: "id-\(token)", uniqueID: nil, latency: .milliseconds(7))
    }

    package func broadcast(_ push: BroadcastPush) async -> PushOutcome {
        let channel = push.channelID.rawValue
        let (outcome, gate) = state.withLock { state in
            state.calls += 1
            state.record(
                channel,
                push.environment,
                push.bundleID.rawValue,
                .liveActivity,
                push.priority,
                push.expiration,
                push.body
            )
            let usual =
                state.channels.contains(push.channelID) ? PushOutcome(.accepted, status: 200) : .channelNotRegistered
            return (state.nextAnswer(channel) ?? usual, state.takeGate(for: [channel], in: push.environment))
        }
        tellWatchers()
        await gate?.pass()
        return outcome
    }

    package func createChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        storage: ChannelStorage
    ) async -> ChannelCreationOutcome {
        let (outcome, gate) = state.withLock { state -> (ChannelCreationOutcome, Gate?) in
            let gate = state.takeGate(for: [], in: environment)
            if !state.creations.isEmpty { return (state.creations.removeFirst(), gate) }
            state.created += 1
            let id = APNSChannelID(stored: "channel\(state.created)")
            state.channels.append(id)
            return (.created(id), gate)
        }
        await gate?.pass()
        return outcome
    }

    package func readChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        channelID: APNSChannelID
    ) async -> ChannelReadingOutcome {
        state.withLock { state in
            if !state.readings.isEmpty { return state.readings.removeFirst() }
            return state.channels.contains(channelID) ? .found(.mostRecent) : .gone
        }
    }

    package func listChannels(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID
    ) async -> ChannelListOutcome {
        let (outcome, gate) = state.withLock { state -> (ChannelListOutcome, Gate?) in
            (state.lists.isEmpty ? .listed(state.channels) : state.lists.removeFirst(), state.gate)
        }
        await gate?.pass()
        return outcome
    }

    package func deleteChannel(
        environment: APNSEnvironment,
        identity: SigningIdentity,
        bundleID: BundleID,
        channelID: APNSChannelID
    ) async -> ChannelDeletionOutcome {
        state.withLock { state in
            state.deleted.append(channelID)
            if !state.deletions.isEmpty {
                let outcome = state.deletions.removeFirst()
                if case .failed = outcome { return outcome }
                state.channels.removeAll { $0 == channelID }
                return outcome
            }
            let isThere = state.channels.contains(channelID)
            state.channels.removeAll { $0 == channelID }
            return isThere ? .deleted : .alreadyGone
        }
    }

    package func endpoint(_ environment: APNSEnvironment, _ api: APNSAPI) -> APNSEndpoint {
        APNSEndpoints.standard(environment, api)
    }

    package func reach(_ environment: APNSEnvironment, _ api: APNSAPI, deadline: Duration) async -> ReachabilityOutcome
    {
        state.withLock { $0.obstacles["\(environment) \(api)"] ?? .reached(.milliseconds(3)) }
    }
}

extension Recorder.State {
    fileprivate mutating func record(
        _ destination: String,
        _ environment: APNSEnvironment,
        _ topic: String,
        _ type: PushType,
        _ priority: PushPriority,
        _ expiration: Int64?,
        _ bytes: [UInt8]
    ) {
        let body: JSONValue
        do {
            body = try JSONValue.parse(bytes)
        } catch {
            Issue.record("A body is not JSON: \(error)")
            return
        }
        let timestamp = body.object?["aps"]?.object?["timestamp"]?.int64 ?? 0
        pushes.append(
            Recorder.Push(
                destination: destination,
                environment: environment,
                topic: topic,
                type: type,
                priority: priority,
                expiration: expiration,
                bytes: bytes,
                body: body,
                timestamp: timestamp + offset,
                call: calls
            )
        )
    }

    fileprivate mutating func takeGate(for tokens: [String], in environment: APNSEnvironment) -> Gate? {
        if let place = gateOfPlace, place.environment == environment { return place.gate }
        guard let one = gateOfOne, tokens.contains(one.destination) else { return gate }
        gateOfOne = nil
        return one.gate
    }

    fileprivate mutating func nextAnswer(_ destination: String) -> PushOutcome? {
        guard var answers = answers[destination], !answers.isEmpty else { return standing }
        let answer = answers.removeFirst()
        self.answers[destination] = answers
        return answer
    }
}

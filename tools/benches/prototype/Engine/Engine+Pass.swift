import APNSTransport
import ActivityModel
import Delivery
import Synchronization

/// One pass: the newest revision of an activity on its way to everybody who is behind.
struct Job: Sendable {
    let key: Int64
    let partition: Int16
    let order: ActivityState.Order
    /// Pushes that have not left by then never leave, because another daemon may own the partition.
    let deadline: Duration
}

/// The result of a pass.
struct PassResult: Sendable {
    var revision: Int64
    var accepted = 0
    var failed: Set<Int64> = []
    var dead: Set<Int64> = []
    var isComplete = true
}

extension Engine {
    /// Starts a pass if this daemon owns the activity, somebody is behind, and no pass is under way.
    func begin(_ key: Int64, _ memory: inout Memory) -> Job? {
        guard let index = memory.entries.index(forKey: key) else { return nil }
        let partition = memory.entries.values[index].state.partition
        guard let remaining = memory.ownership.remaining(partition, at: .now),
            let order = memory.entries.values[index].state.beginPass()
        else { return nil }
        return Job(key: key, partition: partition, order: order, deadline: min(remaining, .seconds(10)))
    }

    func start(_ job: Job) {
        Task { await self.run(job) }
    }

    private func run(_ job: Job) async {
        var next: Job? = job
        while let job = next {
            let result =
                switch job.order.audience {
                case .cards(let cards): await pass(job, to: cards)
                case .channel(let channel): await pass(job, to: channel)
                case .ring: await walk(job)
                }
            next = finish(job, result)
        }
    }

    /// Renders a change. The bytes depend on the change alone, so a repeat has the same.
    func render(_ change: Change) -> [UInt8] {
        let content = CompactJSON(stored: change.content)
        guard change.isEnd else {
            return LiveActivityBody.update(.init(contentState: content), timestamp: change.stamp)
        }
        return LiveActivityBody.end(
            contentState: content,
            alert: nil,
            dismissal: .systemDefault,
            timestamp: change.stamp
        )
    }

    func batch(_ body: [UInt8], to tokens: TokenBuffer, deadline: Duration) -> PushBatch {
        PushBatch(
            environment: .production,
            identity: common.identity,
            headers: PushHeaders(bundleID: common.bundleID, priority: .five, expiration: common.expiration),
            body: body,
            tokens: tokens,
            deadline: deadline
        )
    }

    private func pass(_ job: Job, to cards: [Card]) async -> PassResult {
        var result = PassResult(revision: job.order.change.revision)
        guard !cards.isEmpty else { return result }
        var tokens = TokenBuffer()
        tokens.reserveCapacity(cards.count)
        for card in cards { tokens.append(bytes: card.token) }
        let outcome = await sender.send(batch(render(job.order.change), to: tokens, deadline: job.deadline))
        result.accepted = outcome.accepted
        for exception in outcome.exceptions { result.note(exception.outcome, of: cards[exception.index].device) }
        return result
    }

    private func pass(_ job: Job, to channel: APNSChannelID) async -> PassResult {
        var result = PassResult(revision: job.order.change.revision)
        let outcome = await sender.broadcast(
            BroadcastPush(
                environment: .production,
                identity: common.identity,
                bundleID: common.bundleID,
                channelID: channel,
                storage: .mostRecent,
                priority: .five,
                expiration: common.expiration,
                body: render(job.order.change),
                deadline: job.deadline
            )
        )
        if outcome.isAccepted { result.accepted = 1 } else { result.note(outcome, of: 0) }
        return result
    }

    /// Applies the result of a pass.
    ///
    /// - Returns: The next pass, if a newer change has come meanwhile.
    private func finish(_ job: Job, _ result: PassResult) -> Job? {
        let (next, pause) = memory.withLock { memory -> (Job?, Duration?) in
            guard let index = memory.entries.index(forKey: job.key) else { return (nil, nil) }
            let isTriedAgain = memory.entries.values[index].state.endPass(
                through: result.revision,
                accepted: result.accepted,
                failed: result.failed,
                dead: result.dead,
                isComplete: result.isComplete
            )
            memory.entries.values[index].dead += result.dead
            let failures = memory.entries.values[index].state.failures
            let pause = isTriedAgain ? Self.pause(after: failures) : nil
            memory.touch(job.key)
            return (isTriedAgain ? nil : begin(job.key, &memory), pause)
        }
        if let pause { again(job.key, after: pause) }
        return next
    }

    /// Passes again after a pause. A new change does not shorten it.
    private func again(_ key: Int64, after pause: Duration) {
        Task {
            // A cancelled sleep ends early; the pass then finds that nothing is owned.
            try? await Task.sleep(for: pause)
            let job = memory.withLock { memory in
                memory.entries[key]?.state.pauseEnded()
                return begin(key, &memory)
            }
            if let job { start(job) }
        }
    }

    private static func pause(after failures: Int) -> Duration {
        .seconds(min(30, Double(1 << min(failures - 1, 5))) * .random(in: 1..<1.25))
    }
}

extension PassResult {
    /// What an answer other than acceptance means for a device: the one place that judges answers.
    mutating func note(_ outcome: PushOutcome, of device: Int64) {
        switch outcome.class {
        case .tokenDead, .tokenRejected: dead.insert(device)
        case .accepted, .requestInvalid, .channelGone: break
        case .retry, .credential, .unknown, .notSent: failed.insert(device)
        }
    }
}

import APNSTransport
import ActivityModel
import Logging
import ServiceLifecycle

/// Sends one change along a ring: slice after slice, each read under a look of its own, while those before are on their
/// way and those before them are being stored. So the wire never waits for the database.
struct RingWalk: Sendable {
    let orchestrator: Orchestrator
    let pass: RingPass
    /// What ``RingPass/alert`` says.
    let alert: AlertContent?
    let identity: SigningIdentity
    let progress: RingProgress

    /// A batch: pushes of an activity that have left and are not stored at most; what a crash repeats at most.
    static let batchSize = 10_240
    /// The cursor of the only ring of an activity is stored when so many pushes more were answered.
    static let partSize = 2_560
    /// That of one of several rings is stored more often, but not after fewer.
    static let smallestPart = 640

    /// How a walk ended.
    private enum End { case reachedBound, brokenOff }

    /// - Returns: Also how many pushes have left.
    func run(after cursor: Int64) async throws -> (SegmentWorker.Turn, pushes: Int) {
        let end = try await walk(after: cursor)
        let pushes = progress.withWindow { $0.begun }
        if let failure = try await progress.finish(reachedBound: end == .reachedBound) {
            return (.failed(reason: failure), pushes)
        }
        return (.worked, pushes)
    }

    /// Returns when all that has left is answered.
    private func walk(after start: Int64) async throws -> End {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            var forms = RingForms(
                orchestrator: orchestrator,
                pass: pass,
                alert: alert,
                identity: identity,
                progress: progress
            )
            var (cursor, running) = (start, 0)
            var end: End?
            while end == nil {
                while true {
                    if let part = progress.withWindow({ $0.takePart(ofAtLeast: pass.partSize) }) {
                        running += 1
                        tasks.addTask { try await progress.store(part) }
                    }
                    guard running > 0, progress.withWindow({ $0.open }) > pass.windowSize - TokenPushes.sliceSize else {
                        break
                    }
                    _ = try await tasks.next()
                    running -= 1
                }
                if progress.withWindow({ $0.isStuck }) { break }
                let look = try await orchestrator.segments.look(ahead: pass, after: cursor, isFirst: cursor == start)
                if let last = look.slice.deviceKeys.last {
                    let parts = try await forms.parts(of: look.slice)
                    let number = progress.withWindow { $0.handOut(count: look.slice.count, lastKey: last) }
                    running += 1
                    tasks.addTask { await send(parts, number: number) }
                    cursor = last
                }
                end = self.end(after: look)
            }
            try await tasks.waitForAll()
            return end ?? .brokenOff
        }
    }

    private func end(after look: RingLook) -> End? {
        if !look.mayGoOn { return .brokenOff }
        if look.slice.count < pass.activity.batch(TokenPushes.sliceSize) { return .reachedBound }
        if pass.activity.isProbe || Task.isShuttingDownGracefully { return .brokenOff }
        let begun = progress.withWindow { $0.begun }
        if let most = pass.mostPushes, begun >= most { return .brokenOff }
        // Those who joined late do not wait for a whole pass; nor does a pass stand still because there are always some.
        return look.hasOtherWork && begun >= pass.windowSize ? .brokenOff : nil
    }

    // MARK: Sending

    private func send(_ parts: [RingForms.Part], number: Int) async {
        var exceptions = PushExceptions(activityKey: pass.activity.key, backoff: orchestrator.settings.backoff)
        await withTaskGroup(of: (RingForms.Part, BatchOutcome).self) { tasks in
            for part in parts.dropFirst() { tasks.addTask { await (part, send(part)) } }
            if let first = parts.first {
                let outcome = await send(first)
                exceptions.add(outcome) { first.slice.place($0, heardIfRefused: first.heardIfRefused) }
            }
            for await (part, outcome) in tasks {
                exceptions.add(outcome) { part.slice.place($0, heardIfRefused: part.heardIfRefused) }
            }
        }
        let answered = exceptions
        progress.withWindow { $0.answered(number, answered) }
        if let refusal = exceptions.refusalForGood {
            orchestrator.logger.error(
                "APNs refuses a push for good",
                metadata: ["activity.key": "\(pass.activity.key)", "apns.reason": "\(refusal.words)"]
            )
        }
    }

    private func send(_ part: RingForms.Part) async -> BatchOutcome {
        await part.outgoing.send(part.form, to: part.slice.tokens, of: part.slice.deviceKeys)
    }
}

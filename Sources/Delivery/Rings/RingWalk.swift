import APNSTransport
import ActivityModel
import Cards
import DeliveryStore
import ServiceLifecycle
import Store

/// Sends one change along a ring: slice after slice, each under a look of its own, while those before are on their way
/// and those before them are being stored. So the wire never waits for the database.
struct RingWalk: Sendable {
    let room: DeliveryRoom
    /// Nil if no worker of the dispatcher runs this.
    let slot: WorkerSlot?
    let pass: RingPass
    /// The content of ``RingPass/alert``.
    let alert: AlertContent?
    let identity: SigningIdentity
    let progress: RingProgress
    /// By which what was read ahead grows old.
    var now: @Sendable () -> ContinuousClock.Instant = { .now }

    /// A batch: pushes of an activity that have left and are not stored at most; what a crash repeats at most.
    static let batchSize = 10_240
    /// The number of answered pushes after which the cursor of the only ring of an activity is stored again.
    static let partSize = 2_560
    /// The cursor of one of several rings is stored more often, but not after fewer pushes than this.
    static let smallestPart = 640

    /// How a walk ended.
    private enum End { case reachedBound, brokenOff }

    /// - Returns: Also how many pushes have left.
    func run(after cursor: Int64) async throws -> (TurnResult, pushes: Int) {
        let end = try await walk(after: cursor)
        let pushes = progress.withWindow { $0.begun }
        if let failure = try await progress.finish(reachedBound: end == .reachedBound) {
            return (.failed(reason: failure), pushes)
        }
        return (.worked, pushes)
    }

    /// The state of the walk.
    private struct Course {
        var forms: RingForms
        /// How things stood when the next slice was read, if it was read with a look; nil once that has left.
        var look: RingLook?
        var ahead: RingAhead
        /// The device key of the last destination that has left.
        var cursor: Int64
        /// Slices without an answer, and parts that are being stored.
        var running = 0
        /// When a look last sought cards that are due.
        var soughtAt: Duration?
    }

    /// How long a walk may overlook cards that have become due as time passed.
    private static let seekingPause = Duration.milliseconds(250)

    /// Whether the next look seeks cards that are due. Until a batch has left they would not break the walk off.
    private func seeksDue(_ course: inout Course) -> Bool {
        let now = room.settings.uptime()
        if let soughtAt = course.soughtAt, now - soughtAt < Self.seekingPause { return false }
        guard progress.withWindow({ $0.begun }) >= pass.windowSize else { return false }
        course.soughtAt = now
        return true
    }

    private typealias Tasks = ThrowingTaskGroup<Void, any Error>

    /// Returns when all that has left is answered.
    private func walk(after start: Int64) async throws -> End {
        let segments = room.segments
        let (look, ahead) = try await segments.read(pass, after: start, isFirst: true, seekingDue: false)
        let forms = RingForms(
            room: room,
            slot: slot,
            pass: pass,
            alert: alert,
            identity: identity,
            progress: progress
        )
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            var course = Course(forms: forms, look: look, ahead: ahead, cursor: start)
            while true {
                // Reads the next slices while these leave.
                let last = course.ahead.last
                async let behind = read(behind: last)
                let end = try await sendAhead(&course, &tasks)
                // Awaited even if it is not needed: a cancelled statement costs its connection. Its failure then does
                // not matter to the pushes that have left.
                let next = await behind
                if let end {
                    try await tasks.waitForAll()
                    return end
                }
                if course.ahead.isEmpty {
                    course.ahead = try next.get()
                } else {
                    let seekingDue = seeksDue(&course)
                    (course.look, course.ahead) = try await segments.read(
                        pass,
                        after: course.cursor,
                        isFirst: false,
                        seekingDue: seekingDue
                    )
                }
            }
        }
    }

    /// Nobody without a device key, nor behind a probe, which is one slice.
    private func read(behind key: Int64?) async -> Result<RingAhead, any Error> {
        guard let key, !pass.activity.isProbe else { return .success(RingAhead()) }
        do {
            return .success(try await room.segments.read(pass, behind: key))
        } catch {
            return .failure(error)
        }
    }

    /// Sends the slices that were read, one after the other, each after a check of its own. Nil if no slice is left
    /// that is new enough, and there may be more.
    private func sendAhead(_ course: inout Course, _ tasks: inout Tasks) async throws -> End? {
        repeat {
            try await makeRoom(&course, &tasks)
            if progress.withWindow({ $0.isStuck }) { return .brokenOff }
            if course.ahead.isOutdated(at: now()) { return nil }
            let look: RingLook
            if let seen = course.look.take() {
                look = seen
            } else {
                look = try await room.segments.look(ahead: pass, seekingDue: seeksDue(&course))
                // It may have waited for a connection.
                if course.ahead.isOutdated(at: now()) { return nil }
            }
            guard look.mayGoOn else { return .brokenOff }
            if let slice = course.ahead.next(), let last = slice.deviceKeys.last {
                let parts = try await course.forms.parts(of: slice)
                let number = progress.withWindow { $0.handOut(count: slice.count, lastKey: last) }
                course.running += 1
                tasks.addTask { await send(parts, number: number) }
                course.cursor = last
            }
            if course.ahead.isEmpty, course.ahead.last == nil { return .reachedBound }
            if isToBreakOff(after: look) { return .brokenOff }
        } while !course.ahead.isEmpty
        return nil
    }

    /// Has parts stored, and waits until another slice may leave.
    private func makeRoom(_ course: inout Course, _ tasks: inout Tasks) async throws {
        while true {
            if let part = progress.withWindow({ $0.takePart(ofAtLeast: pass.partSize) }) {
                course.running += 1
                tasks.addTask { try await progress.store(part) }
            }
            guard course.running > 0,
                progress.withWindow({ $0.open }) > pass.windowSize - TokenPushes.sliceSize
            else { return }
            _ = try await tasks.next()
            course.running -= 1
        }
    }

    private func isToBreakOff(after look: RingLook) -> Bool {
        if pass.activity.isProbe || Task.isShuttingDownGracefully { return true }
        let begun = progress.withWindow { $0.begun }
        if let most = pass.mostPushes, begun >= most { return true }
        // Late joiners do not wait for a whole pass, nor do those who wait for the place of this worker. But there may
        // always be some, so a pass stops for them only after a full window.
        return begun >= pass.windowSize && (look.hasOtherWork || slot?.mustYield == true)
    }

    // MARK: Sending

    private func send(_ parts: [RingForms.Part], number: Int) async {
        var exceptions = PushExceptions(activityKey: pass.activity.key, backoff: room.settings.backoff)
        await withTaskGroup(of: (RingForms.Part, BatchOutcome).self) { tasks in
            for part in parts.dropFirst() { tasks.addTask { await (part, send(part)) } }
            if let first = parts.first {
                let outcome = await send(first)
                exceptions.add(outcome) { first.slice.recipient($0, heardIfRefused: first.heardIfRefused) }
            }
            for await (part, outcome) in tasks {
                exceptions.add(outcome) { part.slice.recipient($0, heardIfRefused: part.heardIfRefused) }
            }
        }
        let answered = exceptions
        progress.withWindow { $0.answered(number, answered) }
        exceptions.tellRefusal(to: room.logger)
    }

    private func send(_ part: RingForms.Part) async -> BatchOutcome {
        let outcome = await part.outgoing.send(
            part.form,
            to: .tokens(part.slice.tokens, devices: part.slice.deviceKeys)
        )
        if outcome.accepted > 0 {
            room.work.times.record(pass.change, in: pass.activity.environment, by: .device)
        }
        return outcome
    }
}

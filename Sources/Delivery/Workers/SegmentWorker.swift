import ActivityModel
import Cards
import DeliveryStore
import Logging
import ServiceLifecycle
import Store
import Waiting

/// Works on one leased segment until it has nothing to do, and keeps the lease alive meanwhile.
///
/// One worker at a time serves a segment, so at most one push is in flight per destination (promise 4).
struct SegmentWorker: Sendable {
    let room: DeliveryRoom
    /// Nil if no worker of the dispatcher runs this.
    let slot: WorkerSlot?
    let lease: SegmentLease
    private let enrolment: AudienceEnrolment

    init(room: DeliveryRoom, slot: WorkerSlot?, lease: SegmentLease) {
        self.room = room
        self.slot = slot
        self.lease = lease
        enrolment = AudienceEnrolment(room: room, lease: lease)
    }

    /// Works until the segment rests, backs off, the daemon shuts down, or the lease is lost.
    ///
    /// - Returns: Whether it, or another one, may be due.
    @discardableResult
    func run() async -> Bool {
        do {
            return try await whileKeepingLease { try await work() }
        } catch {
            await failed(error)
            return true
        }
    }

    /// Keeps the lease alive while `body` runs: a batch may wait for APNs longer than the lease lasts.
    ///
    /// - Throws: ``LeaseLost`` once another has the lease; then `body` was cancelled, begins nothing more, and its
    ///   pushes are answered. Errors of `body`.
    func whileKeepingLease<Result: Sendable>(
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Result.self) { group in
            group.addTask { () async throws -> Result in try await keepLease() }
            group.addTask { try await body() }
            defer { group.cancelAll() }
            // The keeper only ends by an error, so the first to end is the work, or a lost lease ends both.
            guard let result = try await group.next() else { throw LeaseLost() }
            return result
        }
    }

    /// Says that the work has ended by an error, and leaves the segment for later.
    func failed(_ error: any Error) async {
        if error is LeaseLost {
            room.logger.notice("lease lost", metadata: metadata)
        } else {
            room.logger.error("segment failed", metadata: metadata.merging(["error": "\(error)"]) { $1 })
            await rescueInTime()
        }
    }

    /// What the work remembers from turn to turn.
    private struct Course {
        /// The device of the last card that was read to be caught up.
        var lastCaughtUp: Int64 = 0
        /// How much the ring has sent since somebody has asked whether it should be divided. A ring cannot hold more than it
        /// sends in a lap; whether it does has to be counted.
        var pushes = 0
    }

    /// The time after which a worker gives its segment back between two turns, if others may need its place.
    private static let longestWork = Duration.seconds(5)

    /// - Returns: Whether the segment, or another one, may be due.
    @discardableResult
    func work() async throws -> Bool {
        let uptime = room.settings.uptime
        let end = uptime() + Self.longestWork
        var course = Course()
        while true {
            if Task.isShuttingDownGracefully {
                try await room.segments.release(lease)
                return false
            }
            // Work that comes after this line is not overlooked: it moves `wakes`.
            guard let look = try await look() else { return false }
            let wakesSeen = look.progress.wakes
            switch try await turnInTime(look, &course) {
            case .worked:
                if course.pushes >= room.settings.ringSize {
                    course.pushes = 0
                    if look.progress.rings < RingDivision.mostRings {
                        try await RingDivision(room: room, lease: lease, range: look.progress.range).run()
                    }
                }
                if let slot, slot.mustYield || (slot.isWanted && uptime() >= end) {
                    try await room.segments.queueAgain(lease)
                    return true
                }
            case .rested: return true
            case .idle:
                // Held-back changes are due when their interval is over. The row says so, and another daemon may serve
                // them.
                if try await room.segments.rest(lease, wakesSeen: wakesSeen, hold: look.activity.hold) { return true }
            case .early(let delay):
                if try await room.segments.pause(lease, wakesSeen: wakesSeen, for: delay) { return false }
            case .failed(let reason):
                try await room.backOff(lease, afterFailures: look.progress.failures + 1, because: reason)
                return false
            }
        }
    }

    private typealias Look = SegmentStore.Look

    /// The look that the next turn acts on; nil if the activity was deleted.
    private func look() async throws -> Look? {
        while true {
            guard let look = try await room.segments.look(lease) else { return nil }
            // Broadcasts know no cards.
            if lease.isChannel { return look }
            if look.activity.areVersionsUnsettled {
                try await VersionSettlement(room: room, lease: lease, range: look.progress.range).run()
            } else if look.activity.hasPendingCards {
                let cards = PendingCards(
                    activityKey: look.activity.key,
                    newest: look.activity.newest,
                    range: look.progress.range,
                    pageSize: room.settings.stretchSize
                )
                try await cards.release(in: room.database)
            } else {
                return look
            }
        }
    }

    private func turnInTime(_ look: Look, _ course: inout Course) async throws -> TurnResult {
        do {
            return try await turn(look, &course)
        } catch let early as StampTooEarly {
            return .early(early.wait)
        }
    }

    /// While sending is halted, the worker that takes the probe sends one small batch.
    private func turn(_ look: Look, _ course: inout Course) async throws -> TurnResult {
        let scope = HaltScope(app: look.activity.bundleID, environment: look.activity.environment)
        guard let halt = look.activity.halt else { return try await sendAll(look, &course) }
        // A broadcast says nothing of tokens.
        guard !lease.isChannel, try await room.halts.takeProbe(scope, halt, reviving: (lease, look.progress.range))
        else {
            return .early(halt.wait(jitter: room.settings.jitter()))
        }
        var probe = look
        probe.activity.isProbe = true
        do {
            let result = try await sendSome(probe, &course)
            let goesOn = try await room.halts.endProbe(scope, halt)
            if goesOn { return .worked }
            if case .worked = result { return .early(.seconds(1)) }
            return result
        } catch {
            _ = try await room.halts.endProbe(scope, halt)
            throw error
        }
    }

    /// One batch of the first kind that has anything to send.
    private func sendSome(_ look: Look, _ course: inout Course) async throws -> TurnResult {
        if look.activity.state == .scheduled || look.activity.isPast { return .idle }
        let start = try await starts(look)
        guard start.isIdle else { return start }
        let catchUp = try await catchUp(look, &course)
        guard catchUp.isIdle else { return catchUp }
        return try await ring(look, &course)
    }

    /// One batch of each kind. Each is preceded by a look of its own: the one before may have waited for APNs.
    private func sendAll(_ first: Look, _ course: inout Course) async throws -> TurnResult {
        if first.activity.state == .scheduled { return .idle }
        if first.activity.isPast {
            let past = PastActivity(
                room: room,
                lease: lease,
                range: first.progress.range,
                activity: first.activity
            )
            return try await past.close() ? .worked : .idle
        }
        if lease.isChannel {
            return try await ChannelTurn(
                room: room,
                slot: slot,
                lease: lease,
                activity: first.activity,
                progress: first.progress,
                newest: first.newest
            ).run(first.channel)
        }
        var result = try await starts(first)
        var current: Look? = first
        if !result.isIdle { current = try await look() }
        guard let second = current else { return .idle }
        let catchUp = try await catchUp(second, &course)
        result = result.joined(with: catchUp)
        if !catchUp.isIdle { current = try await look() }
        guard let third = current else { return .idle }
        result = result.joined(with: try await ring(third, &course))
        if case .worked = result { return result }
        return result.joined(with: try await abandonStarts(third))
    }

    /// Abandons the starts that are left after the end, when nobody has to hear of it at once any more.
    private func abandonStarts(_ look: Look) async throws -> TurnResult {
        guard lease.isFirstRing, look.activity.state == .ended else { return .idle }
        let abandonment = StartAbandonment(database: room.database, activityKey: lease.activityKey)
        return try await abandonment.run() ? .worked : .idle
    }

    /// They are claimed by row, and one ring does it for all.
    private func starts(_ look: Look) async throws -> TurnResult {
        guard lease.isFirstRing, look.activity.state == .live, look.activity.mayHaveStarts else { return .idle }
        return try await StartTurn(
            room: room,
            slot: slot,
            lease: lease,
            activity: look.activity,
            enrolment: enrolment
        ).run()
    }

    private func catchUp(_ look: Look, _ course: inout Course) async throws -> TurnResult {
        guard look.activity.mayHaveCards else { return .idle }
        return try await CatchUpTurn(
            room: room,
            slot: slot,
            lease: lease,
            progress: look.progress,
            activity: look.activity
        ).run(behind: &course.lastCaughtUp)
    }

    private func ring(_ look: Look, _ course: inout Course) async throws -> TurnResult {
        let ring = RingTurn(
            room: room,
            slot: slot,
            lease: lease,
            activity: look.activity,
            progress: look.progress,
            newest: look.newest
        )
        let (turn, pushes) = try await ring.run()
        course.pushes += pushes
        return turn
    }

    /// If the database does not answer, it retries while the work runs. Pushes that have left can still be answered and
    /// stored, if nobody takes the lease. Nothing new leaves without a look of its own.
    private func keepLease() async throws -> Never {
        var pause = room.settings.lease / 3
        while true {
            try await Task.sleep(for: pause)
            do {
                try await room.segments.renew(lease)
                pause = room.settings.lease / 3
            } catch is LeaseLost {
                throw LeaseLost()
            } catch {
                room.logger.debug(
                    "cannot prolong a lease",
                    metadata: metadata.merging(["error": "\(error)"]) { $1 }
                )
                pause = room.settings.lease / 12
            }
        }
    }

    /// Leaves the segment for later as soon as the database answers. When the lease has run out, whoever finds the
    /// segment serves it.
    private func rescueInTime() async {
        let settings = room.settings
        let pause = settings.lease / 12
        let lastTry = settings.uptime() + settings.lease - pause
        while true {
            do {
                return try await rescue()
            } catch is LeaseLost {
                return
            } catch {
                room.logger.debug(
                    "cannot leave a segment for later",
                    metadata: metadata.merging(["error": "\(error)"]) { $1 }
                )
            }
            guard settings.uptime() < lastTry, await room.hasPaused(for: pause) else { return }
        }
    }

    /// Leaves the segment for later, the longer the more often its work has failed in a row.
    ///
    /// - Throws: ``LeaseLost``; errors of the database.
    func rescue() async throws {
        let progress = try await room.segments.renew(lease)
        try await room.segments.backOff(lease, for: room.settings.backoff.delay(afterFailures: progress.failures + 1))
    }

    private var metadata: Logger.Metadata {
        ["activity.key": "\(lease.activityKey)", "segment": "\(lease.segment)"]
    }
}

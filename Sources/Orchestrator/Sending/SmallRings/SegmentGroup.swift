import APNSTransport
import ActivityModel
import Logging

/// Segments that were leased together: the small rings among them are served together, one of the others by a worker of
/// its own, and what is left is given back for other workers.
struct SegmentGroup: Sendable {
    let orchestrator: Orchestrator
    let segments: [LeasedSegment]

    private var store: SegmentStore { orchestrator.segments }

    /// How long answers are waited for before those that are there are stored, together.
    private static let patience = Duration.milliseconds(50)

    /// What serving a group came to.
    struct Outcome: Sendable {
        /// One was served by a worker of its own.
        var hadOther = false
        /// Some were given back: the group had more work than one worker should hold.
        var hadTooMuch = false
        /// Segments may be due again, or others by what was done.
        var mayHaveMore = false
    }

    /// Serves them until they rest.
    func run() async -> Outcome {
        let rings = await smallRings()
        let small = Set(rings.map(\.lease))
        let others = segments.map(\.lease).filter { !small.contains($0) }
        await giveBack(Array(others.dropFirst()))
        return await withTaskGroup(of: Outcome.self) { group in
            if !rings.isEmpty {
                group.addTask { Outcome(mayHaveMore: await serve(rings)) }
            }
            if let other = others.first {
                group.addTask {
                    await SegmentWorker(orchestrator: orchestrator, lease: other).run()
                    return Outcome(hadOther: true, hadTooMuch: others.count > 1, mayHaveMore: true)
                }
            }
            return await group.reduce(Outcome()) { all, one in
                Outcome(
                    hadOther: all.hadOther || one.hadOther,
                    hadTooMuch: all.hadTooMuch || one.hadTooMuch,
                    mayHaveMore: all.mayHaveMore || one.mayHaveMore
                )
            }
        }
    }

    /// Serves one segment, without keeping its lease alive; nothing but its own steps happens.
    static func work(_ lease: SegmentLease, of orchestrator: Orchestrator) async throws {
        let group = SegmentGroup(orchestrator: orchestrator, segments: [LeasedSegment(lease: lease)])
        if let ring = try await group.store.smallRings(among: [lease]).first {
            switch try await group.send(ring) {
            case .everybodyHasIt:
                _ = try await group.store.complete([ring])
                return
            case .backsOff: return
            case .hasExceptions: break
            }
        }
        try await SegmentWorker(orchestrator: orchestrator, lease: lease).work()
    }

    /// Where the database cannot tell, the workers will see.
    func smallRings() async -> [SmallRing] {
        let now = ContinuousClock.now
        let seen = segments.compactMap { $0.freshLook(at: now)?.ring }
        let unseen = segments.filter { $0.freshLook(at: now) == nil }
        do {
            return try await seen + store.smallRings(among: unseen.map(\.lease))
        } catch {
            orchestrator.logger.warning("cannot look at segments", metadata: ["error": "\(error)"])
            return seen
        }
    }

    private func giveBack(_ leases: [SegmentLease]) async {
        // Without a database the leases run out by themselves.
        try? await store.release(leases)
    }

    // MARK: Small rings

    private enum Ended: Sendable {
        /// Everybody has the change; that is to be stored.
        case sent(SmallRing)
        /// It is done with; it may be due again.
        case settled(SmallRing)
        /// What was answered is to be stored, and leases are to be kept alive.
        case time
    }

    /// Sends all at the same time. Rings that are answered are stored together; those that are not yet are waited for, with
    /// their leases kept alive.
    ///
    /// - Returns: Whether some may be due again.
    private func serve(_ rings: [SmallRing]) async -> Bool {
        await withTaskGroup(of: Ended.self) { group in
            for ring in rings { group.addTask { await run(ring) } }
            // A timer is dear where groups are small, so there is one at a time.
            let keeping = store.lease / 3
            let interval = rings.count > 1 ? min(Self.patience, keeping) : keeping
            group.addTask { await Self.wait(interval) }
            var open = Set(rings.map(\.lease))
            var kept = ContinuousClock.now
            var mayHaveMore = false
            var sent: [SmallRing] = []
            while !open.isEmpty, let ended = await group.next() {
                switch ended {
                case .sent(let ring):
                    open.remove(ring.lease)
                    sent.append(ring)
                case .settled(let ring):
                    open.remove(ring.lease)
                    mayHaveMore = true
                case .time:
                    mayHaveMore = await complete(sent) || mayHaveMore
                    sent = []
                    if kept.duration(to: .now) >= keeping {
                        kept = .now
                        // Without a database they run out, and what comes of them is not stored.
                        try? await store.renew(Array(open))
                    }
                    group.addTask { await Self.wait(interval) }
                }
            }
            group.cancelAll()
            return await complete(sent) || mayHaveMore
        }
    }

    private static func wait(_ time: Duration) async -> Ended {
        try? await Task.sleep(for: time)  // throws only when cancelled, and then nobody listens
        return .time
    }

    /// - Returns: Whether some may be due again.
    private func complete(_ rings: [SmallRing]) async -> Bool {
        guard !rings.isEmpty else { return false }
        do {
            return try await store.complete(rings)
        } catch {
            // Their leases run out, and they are sent the same again.
            orchestrator.logger.error(
                "small rings are not stored",
                metadata: ["count": "\(rings.count)", "error": "\(error)"]
            )
            return false
        }
    }

    private func run(_ ring: SmallRing) async -> Ended {
        let worker = SegmentWorker(orchestrator: orchestrator, lease: ring.lease)
        do {
            switch try await send(ring) {
            case .everybodyHasIt: return .sent(ring)
            case .backsOff: break
            case .hasExceptions: await worker.run()
            }
        } catch {
            await worker.failed(error)
        }
        return .settled(ring)
    }

    private enum Sending: Sendable {
        case everybodyHasIt
        /// The lap is stored, and the exceptions have rows of their own.
        case hasExceptions
        /// Nobody was reached; the lease is over.
        case backsOff
    }

    private func send(_ ring: SmallRing) async throws -> Sending {
        let exceptions = try await push(ring)
        guard !exceptions.refused.isEmpty else { return .everybodyHasIt }
        guard exceptions.commonFailure == nil else {
            let delay = orchestrator.settings.backoff.delay(afterFailures: ring.failures + 1)
            try await store.backOff(ring.lease, for: delay)
            return .backsOff
        }
        let merges = ChangeStore.merge(under: ring.lease, after: ring.begun, into: ring.change.revision)
        try await store.acknowledge(
            ring.lease,
            ring.completed,
            with: merges + exceptions.statements
        )
        return .hasExceptions
    }

    /// All pushes of a small ring are alike and leave together.
    private func push(_ ring: SmallRing) async throws -> PushExceptions {
        let outgoing = OutgoingChange(
            orchestrator: orchestrator,
            lease: ring.lease,
            activity: ring.activity,
            change: ring.change,
            identity: try await orchestrator.signing.identity(of: ring.activity.bundleID, ring.activity.environment),
            detail: .pushes
        )
        let heard = ring.change.heard(missing: nil)
        let outcome = await outgoing.send(
            outgoing.form(alert: nil, priority: PriorityRule.routine.priority),
            to: TokenBuffer(ring.riders.map(\.token)),
            of: ring.riders.map(\.deviceKey)
        )
        var exceptions = PushExceptions(activityKey: ring.activity.key, backoff: orchestrator.settings.backoff)
        exceptions.add(outcome) {
            PushExceptions.Place(TokenPushes.Push(ring.riders[$0], alert: nil, heardIfRefused: heard))
        }
        exceptions.tellRefusal(to: orchestrator.logger)
        return exceptions
    }
}

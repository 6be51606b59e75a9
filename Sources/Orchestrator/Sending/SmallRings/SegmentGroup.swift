import ActivityModel
import Logging

/// Segments that were leased together: the small rings among them are served together, one of the others by a worker of
/// its own, and what is left is given back for other workers.
struct SegmentGroup: Sendable {
    let orchestrator: Orchestrator
    let leases: [SegmentLease]

    private var store: SegmentStore { orchestrator.segments }

    /// How long the answers to the pushes of a group are waited for before those that are there are stored.
    private static let patience = Duration.milliseconds(50)

    /// Serves them until they rest.
    ///
    /// - Returns: Whether some were given back: the group had more work than one worker should hold.
    func run() async -> Bool {
        let rings = await smallRings()
        let small = Set(rings.map(\.lease))
        let others = leases.filter { !small.contains($0) }
        await giveBack(Array(others.dropFirst()))
        await withDiscardingTaskGroup { group in
            if !rings.isEmpty { group.addTask { await serve(rings) } }
            if let other = others.first {
                group.addTask { await SegmentWorker(orchestrator: orchestrator, lease: other).run() }
            }
        }
        return others.count > 1
    }

    /// Serves one segment, without keeping its lease alive; nothing but its own steps happens.
    static func work(_ lease: SegmentLease, of orchestrator: Orchestrator) async throws {
        let group = SegmentGroup(orchestrator: orchestrator, leases: [lease])
        if let ring = try await SmallRing.read([lease], from: orchestrator.database).first {
            switch try await group.send(ring) {
            case .everybodyHasIt: return try await group.store.complete([ring])
            case .backsOff: return
            case .hasExceptions: break
            }
        }
        try await SegmentWorker(orchestrator: orchestrator, lease: lease).work()
    }

    /// Where the database cannot tell, the workers will see.
    private func smallRings() async -> [SmallRing] {
        do {
            return try await SmallRing.read(leases, from: orchestrator.database)
        } catch {
            orchestrator.logger.warning("cannot look at segments", metadata: ["error": "\(error)"])
            return []
        }
    }

    private func giveBack(_ leases: [SegmentLease]) async {
        guard !leases.isEmpty else { return }
        // Without a database the leases run out by themselves.
        try? await store.release(leases)
    }

    // MARK: Small rings

    private enum Ended: Sendable {
        /// Everybody has the change; that is to be stored.
        case sent(SmallRing)
        /// It is done with.
        case settled
        case patience
    }

    /// Sends all at the same time. Rings that are answered are stored together; those that are not yet are waited for, each
    /// with its lease kept alive.
    private func serve(_ rings: [SmallRing]) async {
        await withTaskGroup(of: Ended.self) { group in
            for ring in rings { group.addTask { await run(ring) } }
            group.addTask {
                try? await Task.sleep(for: Self.patience)  // throws only when cancelled
                return .patience
            }
            var open = rings.count
            var isPatient = true
            var sent: [SmallRing] = []
            while open > 0, let ended = await group.next() {
                switch ended {
                case .sent(let ring):
                    open -= 1
                    sent.append(ring)
                case .settled: open -= 1
                case .patience: isPatient = false
                }
                if open == 0 || !isPatient {
                    await complete(sent)
                    sent = []
                }
            }
            group.cancelAll()
        }
    }

    private func complete(_ rings: [SmallRing]) async {
        guard !rings.isEmpty else { return }
        do {
            try await store.complete(rings)
        } catch {
            // Their leases run out, and they are sent the same again.
            orchestrator.logger.error(
                "small rings are not stored",
                metadata: ["count": "\(rings.count)", "error": "\(error)"]
            )
        }
    }

    private func run(_ ring: SmallRing) async -> Ended {
        let worker = SegmentWorker(orchestrator: orchestrator, lease: ring.lease)
        do {
            let sending = try await worker.whileKeepingLease { try await send(ring) }
            switch sending {
            case .everybodyHasIt: return .sent(ring)
            case .backsOff: break
            case .hasExceptions: await worker.run()
            }
        } catch {
            await worker.failed(error)
        }
        return .settled
    }

    private enum Sending: Sendable {
        case everybodyHasIt
        /// The lap is stored, and the exceptions have rows of their own.
        case hasExceptions
        /// Nobody was reached; the lease is over.
        case backsOff
    }

    private func send(_ ring: SmallRing) async throws -> Sending {
        let pushes = TokenPushes(orchestrator: orchestrator, lease: ring.lease, activity: ring.activity)
        let (_, exceptions) = try await pushes.send(
            ring.change,
            to: ring.riders.map {
                TokenPushes.Push($0, alert: nil, heardIfRefused: ring.change.heard(missing: nil))
            },
            fixedPriority: SmallRing.decision.priority,
            isWhole: true
        )
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
            with: merges + [SegmentStore.decision(of: ring)] + exceptions.statements
        )
        return .hasExceptions
    }
}

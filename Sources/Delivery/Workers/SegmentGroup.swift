import DeliveryStore
import Logging
import Store
import Waiting

/// Segments that were leased together. It serves the small ones together, gives one of the others a worker of its own,
/// and gives the rest back for other workers.
struct SegmentGroup: Sendable {
    let room: DeliveryRoom
    /// Nil if no worker of the dispatcher runs this.
    let slot: WorkerSlot?
    let segments: [LeasedSegment]

    /// How long it waits for answers before it stores those that are there together.
    private static let patience = Duration.milliseconds(50)

    /// The outcome of serving a group.
    struct Outcome: Sendable {
        /// One was served by a worker of its own.
        var hadOther = false
        /// Some were given back: the group had more work than one worker should hold.
        var hadTooMuch = false
        /// Segments may be due again, or this work has made others due.
        var mayHaveMore = false
    }

    /// Serves them until they rest.
    func run() async -> Outcome {
        let small = await smallSegments()
        let served = Set(small.map(\.lease))
        let others = segments.map(\.lease).filter { !served.contains($0) }
        await giveBack(Array(others.dropFirst()))
        return await withTaskGroup(of: Outcome.self) { group in
            if !small.isEmpty {
                group.addTask { Outcome(mayHaveMore: await serve(small)) }
            }
            if let other = others.first {
                group.addTask {
                    let mayHaveMore = await SegmentWorker(room: room, slot: slot, lease: other).run()
                    return Outcome(hadOther: true, hadTooMuch: others.count > 1, mayHaveMore: mayHaveMore)
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

    /// Those that can be served together. Looks at those that nobody has looked at, or too long ago. If the database does not
    /// answer, workers serve them.
    func smallSegments() async -> [SmallSegment] {
        let begun = ContinuousClock.now
        let unseen = segments.filter { $0.freshLook(at: begun) == nil }
        var looked: [SmallSegment] = []
        do {
            looked = try await room.segments.smallSegments(among: unseen.map(\.lease))
        } catch {
            room.logger.warning("cannot look at segments", metadata: ["error": "\(error)"])
        }
        // The look may have taken long. What has become too old meanwhile is left to workers, too.
        let now = ContinuousClock.now
        return segments.compactMap { $0.freshLook(at: now)?.small } + looked
    }

    private func giveBack(_ leases: [SegmentLease]) async {
        // Without a database the leases expire.
        try? await room.segments.release(leases)
        if !leases.isEmpty { room.wakeUps.signal() }
    }

    // MARK: Small segments

    /// A segment for which APNs has answered, or could not be asked.
    private struct Answered: Sendable {
        let segment: SmallSegment
        let answer: Result<SmallSegment.Answer, any Error>

        /// Whether everybody has the change, or the channel is made.
        var isComplete: Bool { (try? answer.get().isComplete) ?? false }  // an error is settled apart

        var made: MadeChannel? {
            guard case .success(.made(let made)) = answer else { return nil }
            return made
        }
    }

    private enum Ended: Sendable {
        case answered(Answered)
        /// Its results are stored, and its lease is over.
        case settled(SmallSegment)
        /// The same of channels that Apple has made, and whether some may be due again.
        case kept([MadeChannel], mayHaveMore: Bool)
        /// Time to store answers and to keep leases alive.
        case time
    }

    /// How many segments with refused pushes are settled at the same time. If APNs is silent, all segments of the group
    /// need that at once, and each takes a transaction of its own. Others need the database, too.
    private static let mostSettling = 4

    /// Sends all at the same time. Segments whose pushes were all accepted are stored together. For the others it
    /// waits, and keeps their leases alive.
    ///
    /// - Returns: Whether some may be due again.
    private func serve(_ small: [SmallSegment]) async -> Bool {
        await withTaskGroup(of: Ended.self) { group in
            for segment in small { group.addTask { await .answered(answer(segment)) } }
            // A timer is dear where groups are small, so there is one at a time.
            let keeping = room.segments.lease / 3
            let interval = small.count > 1 ? min(Self.patience, keeping) : keeping
            group.addTask { await Self.wait(interval) }
            var open = Set(small.map(\.lease))
            var kept = ContinuousClock.now
            var mayHaveMore = false
            var sent: [Answered] = []
            var made: [MadeChannel] = []
            var unanswered = small.count
            var unsettled: [Answered] = []
            var settling = 0
            while !open.isEmpty, let ended = await group.next() {
                var isTime = false
                switch ended {
                case .answered(let answered):
                    unanswered -= 1
                    if let channel = answered.made {
                        made.append(channel)
                    } else if answered.isComplete {
                        open.remove(answered.segment.lease)
                        sent.append(answered)
                    } else {
                        unsettled.append(answered)
                    }
                case .kept(let channels, let areDue):
                    open.subtract(channels.map(\.wanted.lease))
                    mayHaveMore = areDue || mayHaveMore
                case .settled(let segment):
                    open.remove(segment.lease)
                    settling -= 1
                    mayHaveMore = true
                case .time:
                    isTime = true
                    mayHaveMore = await complete(sent) || mayHaveMore
                    sent = []
                    if kept.duration(to: .now) >= keeping {
                        kept = .now
                        // Without a database they expire, and their outcomes are not stored.
                        try? await room.segments.renew(Array(open))
                    }
                    // A cancelled timer would fire at once, again and again.
                    if !Task.isCancelled { group.addTask { await Self.wait(interval) } }
                }
                // Beside the others, whose leases are kept alive meanwhile: what cannot be stored goes back to Apple.
                if !made.isEmpty, isTime || unanswered == 0 {
                    let channels = made
                    made = []
                    group.addTask { await .kept(channels, mayHaveMore: keep(channels)) }
                }
                while settling < Self.mostSettling, let next = unsettled.popLast() {
                    settling += 1
                    group.addTask { await .settled(settle(next)) }
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
    private func complete(_ sent: [Answered]) async -> Bool {
        let updates = sent.compactMap(\.segment.update)
        guard !updates.isEmpty else { return false }
        do {
            return try await room.segments.complete(updates)
        } catch {
            // Their leases run out, and they are sent the same again.
            room.logger.error(
                "small segments are not stored",
                metadata: ["count": "\(updates.count)", "error": "\(error)"]
            )
            return false
        }
    }

    private func answer(_ segment: SmallSegment) async -> Answered {
        do {
            let answer: SmallSegment.Answer =
                switch segment {
                case .update(let update): try await push(update)
                case .channel(let wanted): try await make(wanted)
                }
            return Answered(segment: segment, answer: .success(answer))
        } catch {
            return Answered(segment: segment, answer: .failure(error))
        }
    }

    private func settle(_ answered: Answered) async -> SmallSegment {
        do {
            switch (answered.segment, try answered.answer.get()) {
            case (.update(let update), let answer): try await settleUpdate(update, answer)
            case (.channel(let wanted), .notMade(let outcome)): try await settleChannel(wanted, outcome)
            case (.channel, _): break  // no such answer, or complete
            }
        } catch is CancellationError {
            // The daemon stops, and has not asked for the channel.
            await giveBack([answered.segment.lease])
        } catch {
            let worker = SegmentWorker(room: room, slot: slot, lease: answered.segment.lease)
            await worker.failed(error)
        }
        return answered.segment
    }
}

import Logging
import Postgres
import Synchronization

extension Engine {
    // MARK: Owning

    /// Renews the lease and takes a fair share, once a second.
    func keepOwning() async {
        while !Task.isCancelled {
            do { try await look() } catch { logger.warning("the lease was not renewed: \(error)") }
            // Only a cancelled sleep throws, and the loop's condition checks that.
            try? await Task.sleep(for: settings.lookInterval)
        }
    }

    private func look() async throws {
        let daemon = memory.withLock { $0.daemon }
        let sentAt = ContinuousClock.now
        let look = try await store.renew(daemon, lease: settings.lease)
        guard look.isAlive else {
            let next = try await store.enter(lease: settings.lease)
            logger.warning("declared dead; continuing as daemon \(next)")
            return memory.withLock { memory in
                memory.ownership.declaredDead(continuingAs: next)
                memory.daemon = next
            }
        }
        let actions = memory.withLock { memory in
            memory.ownership.renewed(sentAt: sentAt)
            let before = memory.ownership.held.count
            defer { if memory.ownership.held.count < before { memory.letGoOfOthers() } }
            return memory.ownership.saw(look.table, daemons: look.daemons)
        }
        for action in actions {
            switch action {
            case .release(let partitions):
                memory.withLock { memory in
                    memory.ownership.lost(partitions)
                    memory.letGoOfOthers()
                }
                try await store.release(partitions, of: daemon)
            case .claim(let partitions):
                try await take(try await store.claim(partitions, for: daemon))
            }
        }
    }

    /// Begins to own partitions: reads the part of the log that is not recorded, and pushes it.
    private func take(_ claim: Store.Claim) async throws {
        guard !claim.epochs.isEmpty else { return }
        // Owned first: what is accepted here from now on goes straight to a pass. No progress is saved meanwhile.
        memory.withLock { memory in
            memory.ownership.claimed(claim.epochs)
            memory.unrecordedSince[claim.done, default: 0] += 1
        }
        defer { memory.withLock { $0.uncount(claim.done) } }
        let partitions = claim.epochs.keys.sorted()
        do {
            let tail = try await store.tail(from: claim.done, of: partitions, except: nil)
            memory.withLock { memory in
                if memory.tail.low == 0 { memory.tail = LogTail(from: tail.oldestOpen) }
            }
            try await push(activities: Set(tail.entries.map(\.activity)), since: claim.done)
        } catch {
            let daemon = memory.withLock { memory in
                memory.ownership.lost(partitions)
                return memory.daemon
            }
            try await store.release(partitions, of: daemon)
            throw error
        }
    }

    // MARK: Reading the log

    /// Reads what other daemons have accepted, when they say so and at an interval.
    func readTail() async {
        let ticks = Task {
            while !Task.isCancelled {
                nudge.yield()
                // Only a cancelled sleep throws, and the loop's condition checks that.
                try? await Task.sleep(for: settings.pollInterval)
            }
        }
        for await _ in nudges {
            do { try await readOnce() } catch { logger.warning("the log was not read: \(error)") }
        }
        ticks.cancel()
    }

    private func readOnce() async throws {
        let (low, partitions, daemon) = memory.withLock { ($0.tail.low, Set($0.ownership.held.keys), $0.daemon) }
        guard !partitions.isEmpty else { return }
        let tail = try await store.tail(from: low, of: partitions.sorted(), except: daemon)
        let fresh = memory.withLock { memory in
            memory.tail.read(
                tail.entries,
                oldestOpen: tail.oldestOpen,
                asked: partitions,
                owned: Set(memory.ownership.held.keys)
            )
        }
        do {
            try await push(activities: Set(fresh.map(\.activity)), since: low)
        } catch {
            memory.withLock { $0.tail = LogTail(from: low) }
            throw error
        }
    }

    /// Reads activities and pushes what they lack.
    private func push(activities keys: Set<Int64>, since mark: UInt64) async throws {
        let sorted = keys.sorted()
        for first in stride(from: 0, to: sorted.count, by: 1_000) {
            let end = min(first + 1_000, sorted.count)
            let loaded = try await store.load(keys: Array(sorted[first..<end]))
            let jobs = memory.withLock { memory in
                loaded.compactMap { one -> Job? in
                    memory.add(one)
                    guard memory.entries[one.state.key]?.state.isBehind == true else { return nil }
                    memory.holdBack(one.state.key, since: mark)
                    return begin(one.state.key, &memory)
                }
            }
            for job in jobs { self.start(job) }
        }
    }

    /// Hears of changes that other daemons have accepted.
    func listen() async {
        for await _ in store.database.notifications(channels: ["prototype"]) { nudge.yield() }
    }

    // MARK: Recording

    /// Records what was sent, in batches, and tells others of the log.
    func keepRecording() async {
        var turn = 0
        while !Task.isCancelled {
            // Only a cancelled sleep throws, and the loop's condition checks that.
            try? await Task.sleep(for: .milliseconds(20))
            turn += 1
            do {
                if memory.withLock({ memory in
                    defer { memory.hasNews = false }
                    return memory.hasNews
                }) {
                    try await store.announce()
                }
                if turn % 5 == 0 { try await record() }
                if turn % 50 == 0 { try await saveProgress() }
            } catch { logger.warning("not recorded: \(error)") }
        }
    }

    /// Records all passes that have ended since the last call.
    package func record() async throws {
        let (records, dead, epochs) = memory.withLock { memory in takeRecords(&memory) }
        guard !records.isEmpty else { return }
        for start in stride(from: 0, to: records.count, by: 1_000) {
            let end = min(start + 1_000, records.count)
            let part = Array(records[start..<end])
            let owned: Set<Int16>
            do {
                owned = Set(try await store.record(part, dead: start == 0 ? dead : [], under: epochs))
            } catch {
                // Otherwise the next owner would repeat what was sent.
                memory.withLock { memory in
                    for record in records[start...] { memory.touch(record.key) }
                    for (key, device) in start == 0 ? dead : [] { memory.entries[key]?.dead.append(device) }
                }
                throw error
            }
            memory.withLock { memory in
                memory.ownership.lost(epochs.keys.filter { !owned.contains($0) })
                for record in part {
                    memory.entries[record.key]?.state.recorded(Int(record.accepted))
                    if memory.entries[record.key]?.state.isBehind == false { memory.letGo(record.key) }
                }
            }
        }
    }

    private func takeRecords(
        _ memory: inout Memory
    ) -> (records: [Store.Record], dead: [(key: Int64, device: Int64)], epochs: [Int16: Int64]) {
        let keys = memory.dirty.sorted()
        memory.dirty = []
        var dead: [(key: Int64, device: Int64)] = []
        var records: [Store.Record] = []
        for key in keys {
            guard let index = memory.entries.index(forKey: key) else { continue }
            memory.entries.values[index].isDirty = false
            let entry = memory.entries.values[index]
            dead += entry.dead.map { (key, $0) }
            memory.entries.values[index].dead = []
            records.append(
                Store.Record(
                    key: key,
                    partition: entry.state.partition,
                    sent: entry.state.sent,
                    accepted: Int64(entry.state.unrecorded)
                )
            )
        }
        return (records, dead, memory.ownership.held)
    }

    private func saveProgress() async throws {
        let (done, epochs) = memory.withLock { memory in
            (memory.unrecordedSince.keys.min() ?? memory.tail.low, memory.ownership.held)
        }
        guard done > 0, !epochs.isEmpty else { return }
        try await store.saveProgress(done, under: epochs)
    }
}

import APNSTransport
import Logging
import Synchronization

/// A change as the caller posts it.
package struct PostedChange: Sendable {
    package let activity: String
    package let content: [UInt8]
    package let isEnd: Bool

    package init(activity: String, content: [UInt8], isEnd: Bool = false) {
        self.activity = activity
        self.content = content
        self.isEnd = isEnd
    }
}

/// The answer to a posted change.
package enum PostAnswer: Sendable, Hashable {
    /// It is committed.
    case accepted(revision: Int64, stamp: Int64)
    case ended
    case unknownActivity
    /// The write failed; the change may have been committed.
    case failed
}

/// The changes that wait to be written.
struct Intake {
    /// One caller with one or more changes.
    final class Call: @unchecked Sendable {
        // Unchecked: used only under the lock of the memory, and by the caller after the last answer.
        var answers: [PostAnswer]
        var missing: Int
        var continuation: CheckedContinuation<Void, Never>?

        init(count: Int) {
            answers = Array(repeating: .failed, count: count)
            missing = count
        }
    }

    struct Waiting {
        let posted: PostedChange
        let call: Call
        let index: Int
    }

    struct Judged {
        let waiting: Waiting
        let entry: Store.Entry
    }

    var waiting: [Waiting] = []
    var running = 0
}

extension Engine {
    /// Accepts changes. Each is committed on return, or refused.
    package func accept(_ changes: [PostedChange]) async -> [PostAnswer] {
        let call = Intake.Call(count: changes.count)
        await withCheckedContinuation { continuation in
            let starts = memory.withLock { memory in
                call.continuation = continuation
                for (index, posted) in changes.enumerated() {
                    memory.intake.waiting.append(Intake.Waiting(posted: posted, call: call, index: index))
                }
                return startsGroup(&memory)
            }
            if starts { Task { await self.writeGroups() } }
        }
        return call.answers
    }

    /// Loads activities before they are needed, as the daemon that has started them knows them.
    package func warm(_ ids: [String]) async throws {
        let loaded = try await store.load(ids: ids)
        memory.withLock { memory in for one in loaded { memory.add(one) } }
    }

    private func startsGroup(_ memory: inout Memory) -> Bool {
        guard memory.intake.running < settings.groups, !memory.intake.waiting.isEmpty else { return false }
        memory.intake.running += 1
        return true
    }

    /// Writes groups until nothing waits. Changes that arrive during a commit form the next group.
    private func writeGroups() async {
        while true {
            let now = APNSClient.wallClock()
            var unknown: [String] = []
            var group: [Intake.Judged] = []
            let (isOver, mark, daemon) = memory.withLock { memory in
                judge(&memory, at: now, into: &group, unknown: &unknown)
                let isOver = group.isEmpty && unknown.isEmpty
                if isOver { memory.intake.running -= 1 }
                return (isOver, memory.tail.low, memory.daemon)
            }
            if isOver { return }
            if !unknown.isEmpty { await find(unknown) }
            if !group.isEmpty { await write(group, since: mark, by: daemon) }
        }
    }

    /// Takes changes out of the queue that can be written now.
    private func judge(
        _ memory: inout Memory,
        at now: Int64,
        into group: inout [Intake.Judged],
        unknown: inout [String]
    ) {
        var rest: [Intake.Waiting] = []
        var taken = 0
        for waiting in memory.intake.waiting {
            guard group.count < settings.groupSize, unknown.count < settings.groupSize else { break }
            taken += 1
            guard let key = memory.keys[waiting.posted.activity], let index = memory.entries.index(forKey: key) else {
                unknown.append(waiting.posted.activity)
                rest.append(waiting)
                continue
            }
            switch memory.entries.values[index].state.judge(at: now) {
            case .wait:
                rest.append(waiting)
            case .refuseEnded:
                answer(waiting, .ended)
            case .write(let revision, let stamp):
                let entry = memory.entries.values[index]
                group.append(
                    Intake.Judged(
                        waiting: waiting,
                        entry: Store.Entry(
                            key: key,
                            partition: entry.state.partition,
                            type: entry.type,
                            generation: entry.generation,
                            change: Change(
                                revision: revision,
                                isEnd: waiting.posted.isEnd,
                                stamp: stamp,
                                content: waiting.posted.content
                            )
                        )
                    )
                )
            }
        }
        memory.intake.waiting.replaceSubrange(0..<taken, with: rest)
    }

    private func answer(_ waiting: Intake.Waiting, _ answer: PostAnswer) {
        waiting.call.answers[waiting.index] = answer
        waiting.call.missing -= 1
        if waiting.call.missing == 0 { waiting.call.continuation?.resume() }
    }

    private func find(_ ids: [String]) async {
        // If this fails, nothing was written, and the changes fail.
        let loaded = try? await store.load(ids: Array(Set(ids)))
        memory.withLock { memory in
            for one in loaded ?? [] { memory.add(one) }
            let missing = Set(ids).filter { memory.keys[$0] == nil }
            guard !missing.isEmpty else { return }
            memory.intake.waiting.removeAll { waiting in
                guard missing.contains(waiting.posted.activity) else { return false }
                answer(waiting, loaded == nil ? .failed : .unknownActivity)
                return true
            }
        }
    }

    /// Writes one group, answers its callers, and hands what is owned here to the passes.
    private func write(_ group: [Intake.Judged], since mark: UInt64, by daemon: Int64) async {
        let sorted = group.sorted { $0.entry.key < $1.entry.key }
        var written: Set<Int64>?
        do {
            let keys = try await store.append(sorted.map(\.entry), by: daemon)
            written = keys.count == sorted.count ? nil : Set(keys)
        } catch {
            logger.warning("a group was not written: \(error)")
            written = []
        }
        var stale: [Int64] = []
        let jobs = memory.withLock { memory in
            var jobs: [Job] = []
            for judged in sorted {
                let key = judged.entry.key
                guard written?.contains(key) ?? true else {
                    memory.entries[key]?.state.missed()
                    stale.append(key)
                    memory.intake.waiting.append(judged.waiting)
                    continue
                }
                let change = judged.entry.change
                memory.entries[key]?.state.committed(change)
                if memory.ownership.held[judged.entry.partition] != nil {
                    memory.holdBack(key, since: mark)
                    if let job = begin(key, &memory) { jobs.append(job) }
                } else {
                    memory.hasNews = true
                }
                answer(judged.waiting, .accepted(revision: change.revision, stamp: change.stamp))
            }
            return jobs
        }
        for job in jobs { start(job) }
        if !stale.isEmpty { await refresh(stale) }
    }

    /// Reads activities again whose guard missed.
    private func refresh(_ keys: [Int64]) async {
        do {
            let loaded = try await store.load(keys: keys)
            memory.withLock { memory in
                for one in loaded { memory.add(one) }
            }
        } catch {
            logger.warning("activities were not read again: \(error)")
            memory.withLock { memory in for key in keys { memory.forget(key) } }
        }
    }
}

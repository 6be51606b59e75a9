import APNSTransport
import Delivery
import Logging
import DeliveryStore
import Postgres
import Synchronization

/// A page of a large activity, as the database sent it.
private struct Page: Sendable {
    let rows: Rows
    let carousel: Carousel

    var isLast: Bool { rows.isEmpty }

    func device(_ index: Int) throws -> Int64 { try rows[index].decode(Int64.self, at: 0) }

    func tokens(_ range: Range<Int>) -> TokenBuffer {
        var tokens = TokenBuffer()
        tokens.reserveCapacity(range.count)
        for index in range {
            rows.withBytes(row: index, column: 1) { bytes in
                bytes.withUnsafeBytes { _ = tokens.append(bytes: $0.bindMemory(to: UInt8.self).span) }
            }
        }
        return tokens
    }
}

extension Engine {
    /// Walks a large activity until everybody has been sent the newest revision.
    func walk(_ job: Job) async -> PassResult {
        var result = PassResult(revision: job.order.change.revision)
        do {
            try await walk(job, &result)
        } catch {
            logger.warning("a walk was interrupted: \(error)")
            result.isComplete = false
        }
        return result
    }

    private func walk(_ job: Job, _ result: inout PassResult) async throws {
        var carousel = try await store.ring(job.key)
        var change = job.order.change
        var body = render(change)
        var window = PageWindow<Carousel>(limit: settings.window)
        carousel.turn(to: change.revision, alert: nil)
        var behind: [Int64] = []
        var isSaved = true
        try await withThrowingTaskGroup(of: (number: Int, outcome: BatchOutcome, devices: [Int64]).self) { group in
            /// Takes one answer and saves the position when enough has been answered.
            func collect(atLeast: Int) async throws {
                guard let answer = try await group.next() else { return }
                window.answer(answer.number)
                result.accepted += answer.outcome.accepted
                for exception in answer.outcome.exceptions {
                    result.note(exception.outcome, of: answer.devices[exception.index])
                }
                guard let position = window.checkpoint(atLeast: atLeast) else { return }
                behind = Array(result.failed)
                isSaved = try await store.save(position, of: job.key, behind: behind, under: epoch(of: job.partition))
            }
            var ahead = readAhead(carousel, job.key)
            while isSaved, case .send(_, _, _, let through) = carousel.next {
                let page = try await ahead.value
                guard !page.isLast else {
                    carousel.acknowledge(through: nil, reachedBound: true)
                    ahead = readAhead(carousel, job.key)
                    continue
                }
                // The next page is read while this one is sent.
                let last = try page.device(page.rows.count - 1)
                var after = carousel
                after.acknowledge(through: last, reachedBound: false)
                let next = readAhead(after, job.key)
                var start = 0
                var hasTurned = false
                while start < page.rows.count, !hasTurned, isSaved {
                    guard let moment = state(of: job) else { throw PassInterrupted() }
                    if moment.change.revision > change.revision {
                        change = moment.change
                        body = render(change)
                        carousel.turn(to: change.revision, alert: nil)
                        hasTurned = true
                        continue
                    }
                    let range = start..<min(start + settings.slice, page.rows.count)
                    start = range.upperBound
                    let devices = try range.map { try page.device($0) }
                    carousel.acknowledge(through: devices.last, reachedBound: devices.last == through)
                    let number = window.issue(range.count, then: carousel)
                    let push = batch(body, to: page.tokens(range), deadline: moment.deadline)
                    group.addTask { [sender] in (number, await sender.send(push), devices) }
                    while !window.hasRoom { try await collect(atLeast: 2_560) }
                }
                ahead = hasTurned ? readAhead(carousel, job.key) : next
            }
            while window.unsaved > 0, isSaved { try await collect(atLeast: 1) }
        }
        result.isComplete = isSaved
        result.revision = carousel.completed
        result.failed = []
        if isSaved {
            isSaved = try await store.save(carousel, of: job.key, behind: [], under: epoch(of: job.partition))
        }
    }

    private func readAhead(_ carousel: Carousel, _ key: Int64) -> Task<Page, any Error> {
        Task { [store, settings] in
            guard case .send(_, _, let after, let through) = carousel.next else {
                return Page(rows: try await store.page(key, after: .max, through: nil, limit: 1), carousel: carousel)
            }
            let rows = try await store.page(key, after: after, through: through, limit: settings.page)
            return Page(rows: rows, carousel: carousel)
        }
    }

    /// The change for the next slice, and its deadline; `nil` if no slice may begin.
    private func state(of job: Job) -> (change: Change, deadline: Duration)? {
        memory.withLock { memory in
            guard let remaining = memory.ownership.remaining(job.partition, at: .now),
                let change = memory.entries[job.key]?.state.current
            else { return nil }
            return (change, min(remaining, .seconds(10)))
        }
    }

    private func epoch(of partition: Int16) -> [Int16: Int64] {
        memory.withLock { memory in
            memory.ownership.held[partition].map { [partition: $0] } ?? [:]
        }
    }
}

/// The partition is no longer owned.
private struct PassInterrupted: Error {}

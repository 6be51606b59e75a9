package import APITypes
package import APNSTransport
import ActivityModel
import Metrics
import Postgres
import Synchronization

/// Takes down what the timeline tells, for ``TimelineWriter`` to write it.
///
/// Recording never waits: rows go to a buffer, and what finds it full is counted and lost, because telling must not
/// slow down sending. Rows are also lost when a daemon dies before it has written them, a moment after they were
/// recorded.
package final class Timeline: Sendable {
    /// What is to be written.
    struct Waiting: Sendable {
        var rows: [TimelineRow] = []
        /// How many rows of each activity were lost.
        var lost: [Int64: Int] = [:]
        /// What became of pushes, counted for the events; each adds up what was recorded since the last writing.
        var answers: [PushCounts.Subject: AnsweredPushes] = [:]
        /// How many phones got a state without the older alert that they were owed.
        var droppedAlerts: [DroppedAlert: Int] = [:]

        var isEmpty: Bool { rows.isEmpty && lost.isEmpty && answers.isEmpty && droppedAlerts.isEmpty }

        /// While the database is away only what is being counted already is counted on, so that nothing grows without
        /// bound.
        fileprivate mutating func count(_ pushes: AnsweredPushes, of subject: PushCounts.Subject) {
            answers[subject]?.counts += pushes.counts
            if answers[subject] == nil, answers.count < Timeline.subjectsCounted { answers[subject] = pushes }
        }

        fileprivate mutating func count(_ count: Int, of alert: DroppedAlert) {
            guard droppedAlerts[alert] != nil || droppedAlerts.count < Timeline.subjectsCounted else { return }
            droppedAlerts[alert, default: 0] += count
        }
    }

    fileprivate struct Buffer {
        var waiting = Waiting()
        /// Where the rows of batches stand which more parts may join.
        var batches: [TimelineSending: Int] = [:]
        var batchNumber: UInt64 = 0
    }

    /// Activities of which it is remembered how much was lost.
    fileprivate static let lossesRemembered = 1_000

    /// Changes whose pushes are counted at the same time.
    fileprivate static let subjectsCounted = 20_000

    private let capacity: Int
    private let buffer = Mutex(Buffer())
    private let scale: TimelineScale
    /// One element per burst of recorded rows. For one consumer.
    let arrivals: AsyncStream<Void>
    private let arrived: AsyncStream<Void>.Continuation

    /// `capacity`: the most rows that wait.
    init(database: Database, capacity: Int = 50_000) {
        self.capacity = capacity
        scale = TimelineScale(database: database)
        (arrivals, arrived) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    // MARK: Recording

    /// How much is told of a batch of `count` pushes: a row for each while the activity has at most 1,000 destinations.
    package func detail(of activityKey: Int64, count: Int) async throws -> TimelineDetail {
        try await scale.isSmall(activityKey, batch: count) ? .pushes : batchDetail(isRing: false)
    }

    /// The same for the beginning of a pass over a ring, whose devices are in its order. That they are sent to does not
    /// make them more.
    package func detail(ofRing activityKey: Int64) async throws -> TimelineDetail {
        try await scale.isSmall(activityKey, batch: 0) ? .pushes : batchDetail(isRing: true)
    }

    /// The next batch of an activity that has more.
    package func batchDetail(isRing: Bool) -> TimelineDetail {
        let number = buffer.withLock { buffer in
            buffer.batchNumber += 1
            return buffer.batchNumber
        }
        return .batch(number: number, isRing: isRing)
    }

    /// Takes down what became of pushes to `devices`, which are in the order of the batch.
    package func record(_ sending: TimelineSending, to devices: [Int64], _ answers: BatchOutcome) {
        record(sending.rows(to: devices, answers), of: sending, PushCounts(answers))
    }

    /// Takes down what became of a push to the activity's channel.
    package func record(_ sending: TimelineSending, broadcast answer: BatchOutcome) {
        record([sending.row(to: nil, answer.single, answer.receipts.first)], of: sending, PushCounts(answer))
    }

    /// Takes down that so many phones got a state without the older alert that they were owed.
    package func record(_ alert: DroppedAlert, phones: Int) {
        guard phones > 0 else { return }
        buffer.withLock { $0.waiting.count(phones, of: alert) }
        arrived.yield()
    }

    /// Takes down that a request changed nothing. Only the problem's code is kept: the rest may repeat what was sent.
    package func record(_ problem: Problem, refusing event: TimelineRow.Event, of activityKey: Int64) {
        var row = TimelineRow(.refused, activityKey: activityKey)
        row.event = event
        row.status = problem.status
        row.reason = problem.code
        record([row], of: nil, nil)
    }

    private func record(_ rows: [TimelineRow], of sending: TimelineSending?, _ counts: PushCounts?) {
        guard !rows.isEmpty else { return }
        let lost = buffer.withLock { buffer in
            if let sending, let counts { buffer.count(counts, of: sending) }
            return buffer.add(rows, of: sending, capacity: capacity)
        }
        if lost > 0 { Self.countLost(lost) }
        arrived.yield()
    }

    // MARK: Writing

    /// Hands out everything that waits.
    func take() -> Waiting {
        buffer.withLock { buffer in
            defer {
                buffer.waiting = Waiting()
                buffer.batches = [:]
            }
            return buffer.waiting
        }
    }

    /// Takes back what could not be written; the oldest first, as far as there is room.
    func giveBack(_ unwritten: Waiting) {
        let lost = buffer.withLock { buffer in
            let newer = buffer.waiting
            buffer.waiting = unwritten
            buffer.batches = [:]
            for (activity, count) in newer.lost { buffer.lose(count, of: activity) }
            for (subject, pushes) in newer.answers { buffer.waiting.count(pushes, of: subject) }
            for (alert, count) in newer.droppedAlerts { buffer.waiting.count(count, of: alert) }
            return buffer.add(newer.rows, of: nil, capacity: capacity)
        }
        if lost > 0 { Self.countLost(lost) }
        arrived.yield()
    }

    /// Counts rows that will never be written.
    func lose(_ unwritten: Waiting) {
        buffer.withLock { buffer in
            for (activity, count) in unwritten.lost { buffer.lose(count, of: activity) }
            for row in unwritten.rows { buffer.lose(1, of: row.activityKey) }
        }
        Self.countLost(unwritten.rows.count)
    }

    private static func countLost(_ count: Int) {
        Counter(label: "tally_timeline_rows_lost_total").increment(by: count)
    }
}

extension Timeline.Buffer {
    /// - Returns: How many rows found no room.
    fileprivate mutating func add(_ rows: [TimelineRow], of sending: TimelineSending?, capacity: Int) -> Int {
        var lost = 0
        for row in rows {
            if row.kind == .batch, let sending, let place = batches[sending] {
                waiting.rows[place].add(row)
            } else if waiting.rows.count < capacity {
                if row.kind == .batch, let sending { batches[sending] = waiting.rows.count }
                waiting.rows.append(row)
            } else {
                lose(1, of: row.activityKey)
                lost += 1
            }
        }
        return lost
    }

    fileprivate mutating func count(_ counts: PushCounts, of sending: TimelineSending) {
        let pushes = AnsweredPushes(activity: sending.activity, origin: sending.origin, counts: counts)
        waiting.count(pushes, of: PushCounts.Subject(sending))
    }

    fileprivate mutating func lose(_ count: Int, of activityKey: Int64) {
        guard waiting.lost[activityKey] != nil || waiting.lost.count < Timeline.lossesRemembered else { return }
        waiting.lost[activityKey, default: 0] += count
    }
}

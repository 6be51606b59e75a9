import ActivityModel
import Waiting

/// One phone's unsent reports to Tally, in order. Pure: the desk sends them.
package struct ReportQueue: Sendable {
    /// The next step for the desk.
    package enum Action: Sendable, Hashable {
        /// Nothing: a report is being sent, or a delay is running.
        case none
        /// Send the first report now.
        case send
        /// Send the first report after this many milliseconds.
        case wait(milliseconds: Int64)
    }

    private enum State: Sendable {
        case idle
        case sending
        case waiting
    }

    private var state = State.idle
    private var pending: [PhoneReport] = []
    /// Failed tries of the first report.
    package private(set) var failures = 0
    /// The error of the last try; nil after a success.
    package private(set) var lastError: String?
    package private(set) var accepted = 0

    package init() {}

    package var pendingCount: Int { pending.count }
    /// The report that is next to be sent, or is being sent.
    package var first: PhoneReport? { pending.first }

    /// Adds a report. It replaces an unsent one on the same subject.
    package mutating func submit(_ report: PhoneReport) -> Action {
        let firstReplaceable = state == .sending ? 1 : 0
        if let index = pending.indices.dropFirst(firstReplaceable).first(where: {
            pending[$0].subject == report.subject
        }) {
            pending[index] = report
        } else {
            pending.append(report)
        }
        guard state == .idle else { return .none }
        state = .sending
        return .send
    }

    /// Tally accepted the first report.
    package mutating func succeeded() -> Action {
        pending.removeFirst()
        failures = 0
        lastError = nil
        accepted += 1
        return next()
    }

    private static let backoff = Backoff(first: .milliseconds(200), cap: .seconds(5))

    /// The first report failed. It is dropped if a newer one on the same subject is queued. `jitter`, 0 to 1, shortens
    /// the delay by up to a half.
    package mutating func failed(_ error: String, jitter: Double) -> Action {
        lastError = error
        failures += 1
        if let first = pending.first, pending.dropFirst().contains(where: { $0.subject == first.subject }) {
            pending.removeFirst()
        }
        state = .waiting
        let delay = Self.backoff.delay(afterFailures: failures, jitter: 1 - jitter)
        return .wait(milliseconds: Int64(delay / .milliseconds(1)))
    }

    /// The delay is over.
    package mutating func waited() -> Action {
        guard state == .waiting else { return .none }
        return next()
    }

    private mutating func next() -> Action {
        state = pending.isEmpty ? .idle : .sending
        return pending.isEmpty ? .none : .send
    }
}

extension PhoneReport {
    fileprivate enum Subject: Hashable {
        case device
        case activity(ActivityID)
    }

    fileprivate var subject: Subject {
        switch self {
        case .device: .device
        case .subscription(let report): .activity(report.activityID)
        }
    }
}

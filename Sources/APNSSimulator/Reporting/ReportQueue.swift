import ActivityModel

/// What one phone still has to tell Tally, in order. Pure: the desk does the sending.
package struct ReportQueue: Sendable {
    /// What the desk has to do.
    package enum Action: Sendable, Hashable {
        /// Nothing: a report is on its way, or a wait is running.
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
    /// Tries of the first report that failed.
    package private(set) var failures = 0
    /// Why the last try failed; nil after a success.
    package private(set) var lastError: String?
    package private(set) var accepted = 0

    package init() {}

    package var pendingCount: Int { pending.count }
    /// What is to be sent, or is on its way.
    package var first: PhoneReport? { pending.first }

    /// A new report. It takes the place of an unsent one about the same thing.
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

    /// The first report was accepted.
    package mutating func succeeded() -> Action {
        pending.removeFirst()
        failures = 0
        lastError = nil
        accepted += 1
        return next()
    }

    /// The first report failed. It is given up if a newer one about the same thing waits behind it.
    /// `jitter`, 0 to 1, shortens the wait by up to a half.
    package mutating func failed(_ error: String, jitter: Double) -> Action {
        lastError = error
        failures += 1
        if let first = pending.first, pending.dropFirst().contains(where: { $0.subject == first.subject }) {
            pending.removeFirst()
        }
        state = .waiting
        let longest: Int64 = 5000
        let full = min(200 << min(Int64(failures - 1), 5), longest)
        return .wait(milliseconds: full - Int64(Double(full) * jitter / 2))
    }

    /// The wait is over.
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

    /// What a report is about.
    fileprivate var subject: Subject {
        switch self {
        case .device: .device
        case .subscription(let report): .activity(report.activityID)
        }
    }
}

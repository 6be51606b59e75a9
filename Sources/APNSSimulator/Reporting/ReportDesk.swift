package import ActivityModel
package import Logging
package import Reactor
import ServiceLifecycle
import Synchronization

/// Sends the reports of all phones' apps to Tally, and retries until Tally accepts them. Each phone's reports stay in
/// order; `width` phones send in parallel.
///
/// Reports wait until ``connect(_:for:)`` sets the Tally to report to.
package final class ReportDesk: Service {
    private struct Entry {
        let profile: PhoneProfile
        var queue = ReportQueue()
    }

    private struct State {
        var entries: [DeviceID: Entry] = [:]
        var reporters: [BundleID: any TallyReporting] = [:]
        var reporter: (any TallyReporting)?
        /// Phones whose reports wait for ``connect(_:for:)``.
        var stranded: [DeviceID] = []
    }

    /// The number of reports in each state.
    package struct Overview: Sendable, Hashable {
        package var accepted = 0
        package var pending = 0
        /// Phones whose last try failed.
        package var failing = 0
        /// The last error of one of them.
        package var lastError: String?
    }

    private let state = Mutex(State())
    private let loop: EventLoop
    private let width: Int
    private let logger: Logger
    private let ready: AsyncStream<DeviceID>
    private let readiness: AsyncStream<DeviceID>.Continuation

    /// - Parameters:
    ///   - loop: Runs the timers.
    ///   - width: The most simultaneous reports.
    ///   - logger: Logs the first failure of a report.
    package init(loop: EventLoop, width: Int = 64, logger: Logger) {
        self.loop = loop
        self.width = width
        self.logger = logger
        (ready, readiness) = AsyncStream.makeStream()
    }

    /// Sets the Tally for one app, or for all apps without their own, and sends the waiting reports.
    package func connect(_ reporter: any TallyReporting, for app: BundleID? = nil) {
        let stranded = state.withLock { state in
            if let app {
                state.reporters[app] = reporter
            } else {
                state.reporter = reporter
            }
            defer { state.stranded.removeAll() }
            return state.stranded
        }
        stranded.forEach { readiness.yield($0) }
    }

    /// Queues a report. Callable from any thread; never blocks.
    package func submit(_ report: PhoneReport, of phone: PhoneProfile) {
        let action = state.withLock { state in
            state.entries[phone.id, default: Entry(profile: phone)].queue.submit(report)
        }
        follow(action, of: phone.id)
    }

    /// The report queue of one phone.
    package func queue(of phone: DeviceID) -> ReportQueue? {
        state.withLock { $0.entries[phone]?.queue }
    }

    package var overview: Overview {
        state.withLock { state in
            state.entries.values.reduce(into: Overview()) { overview, entry in
                overview.accepted += entry.queue.accepted
                overview.pending += entry.queue.pendingCount
                guard let error = entry.queue.lastError else { return }
                overview.failing += 1
                overview.lastError = error
            }
        }
    }

    /// Sends until the program shuts down or the task is cancelled. Unsent reports are then lost, as on a phone that is
    /// switched off.
    package func run() async {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                var running = 0
                for await phone in self.ready {
                    if running >= self.width {
                        await group.next()
                        running -= 1
                    }
                    running += 1
                    group.addTask { await self.send(for: phone) }
                }
                group.cancelAll()
            }
        }
    }

    private func send(for phone: DeviceID) async {
        let job: (profile: PhoneProfile, report: PhoneReport, reporter: any TallyReporting)? = state.withLock { state in
            guard let entry = state.entries[phone], let report = entry.queue.first else { return nil }
            guard let reporter = state.reporters[entry.profile.bundleID] ?? state.reporter else {
                state.stranded.append(phone)
                return nil
            }
            return (entry.profile, report, reporter)
        }
        guard let job else { return }
        do {
            switch job.report {
            case .device(let report): try await job.reporter.report(report, of: job.profile)
            case .subscription(let report): try await job.reporter.report(report, of: job.profile)
            }
            follow(state.withLock { $0.entries[phone]?.queue.succeeded() ?? .none }, of: phone)
        } catch {
            let text = String(describing: error)
            let (action, isFirst) = state.withLock { state in
                let action = state.entries[phone]?.queue.failed(text, jitter: .random(in: 0...1)) ?? .none
                return (action, state.entries[phone]?.queue.failures == 1)
            }
            if isFirst {
                logger.debug("report failed", metadata: ["device.id": "\(phone)", "error": "\(text)"])
            }
            follow(action, of: phone)
        }
    }

    private func follow(_ action: ReportQueue.Action, of phone: DeviceID) {
        switch action {
        case .none:
            break
        case .send:
            readiness.yield(phone)
        case .wait(let milliseconds):
            loop.execute { [self] in
                loop.schedule(after: .milliseconds(milliseconds)) { [self] in
                    follow(state.withLock { $0.entries[phone]?.queue.waited() ?? .none }, of: phone)
                }
            }
        }
    }
}

import Logging
import ServiceLifecycle
import Synchronization

/// Tells many readers of new events with one reading of the database, and only while somebody wants to know.
///
/// Readers ask for what comes after their place, at their own pace, so nothing piles up for a slow one. The newest events
/// are kept in memory; who has fallen behind them reads from the database, a few at a time.
final class EventFeed: Service, CustomStringConvertible {
    private struct Waiting {
        let deadline: ContinuousClock.Instant
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        /// Nil while nobody reads.
        var window: EventWindow?
        var waiting: [Int: Waiting] = [:]
        var nextTicket = 0
        var lastReader = ContinuousClock.now
        /// How many readers read from the database at this moment.
        var catchingUp = 0
        var isStopped = false

        mutating func beginCatchingUp(most: Int) -> Bool {
            guard catchingUp < most else { return false }
            catchingUp += 1
            return true
        }
    }

    /// How long the window is kept up to date for readers that may be back in a moment.
    private static let rest = Duration.seconds(30)
    /// How many readers may read from the database at the same time; it has other work to do.
    private static let mostCatchingUp = 4

    private let store: EventStore
    private let interval: Duration
    private let capacity: Int
    private let logger: Logger
    private let state = Mutex(State())

    /// - Parameters:
    ///   - store: where events are read.
    ///   - interval: how often the database is asked; so late an event may be told of.
    ///   - capacity: how many events are kept in memory.
    ///   - logger: gets a line when the database cannot be asked.
    init(store: EventStore, interval: Duration, capacity: Int = 10_000, logger: Logger) {
        self.store = store
        self.interval = interval
        self.capacity = capacity
        self.logger = logger
    }

    var description: String { "event-feed" }

    // MARK: Reading

    /// What comes after a place, as soon as there is something; at `deadline` whatever there is, so perhaps nothing but a
    /// place to go on from.
    func page(
        after cursor: EventCursor,
        matching filter: EventFilter,
        limit: Int,
        until deadline: ContinuousClock.Instant
    ) async throws -> EventPage {
        var place = cursor
        while true {
            let known = state.withLock { state in
                state.lastReader = .now
                return state.window?.page(after: place, matching: filter, limit: limit)
            }
            let page: EventPage
            if let known {
                page = known
            } else {
                page = try await catchUp(after: place, matching: filter, limit: limit)
            }
            if !page.events.isEmpty || ContinuousClock.now >= deadline { return page }
            try Task.checkCancellation()
            if state.withLock({ $0.isStopped }) { return page }
            place = page.next
            if page.isLast { await wait(after: place, until: deadline) }
        }
    }

    private func catchUp(after place: EventCursor, matching filter: EventFilter, limit: Int) async throws -> EventPage {
        while !state.withLock({ $0.beginCatchingUp(most: Self.mostCatchingUp) }) {
            try await Task.sleep(for: .milliseconds(20))
        }
        defer { state.withLock { $0.catchingUp -= 1 } }
        return try await store.page(after: place, matching: filter, limit: limit)
    }

    /// Until the window has something after a place, the deadline has passed, or the task is cancelled.
    private func wait(after place: EventCursor, until deadline: ContinuousClock.Instant) async {
        let ticket = state.withLock { state in
            defer { state.nextTicket += 1 }
            return state.nextTicket
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mustGoOn = state.withLock { state in
                    // The handler may have run before there was anything to resume.
                    let isNews = state.window.map { $0.end > place } ?? false
                    if Task.isCancelled || state.isStopped || isNews { return true }
                    state.waiting[ticket] = Waiting(deadline: deadline, continuation: continuation)
                    return false
                }
                if mustGoOn { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: ticket) }?.continuation.resume()
        }
    }

    // MARK: Asking the database

    func run() async {
        await cancelWhenGracefulShutdown {
            await self.settleRestored()
            while !Task.isCancelled {
                await self.look()
                try? await Task.sleep(for: self.interval)  // throws only when cancelled
            }
        }
        let waiting = state.withLock { state in
            state.isStopped = true
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for reader in waiting { reader.continuation.resume() }
    }

    private func settleRestored() async {
        do {
            try await store.settleRestored()
        } catch {
            logger.warning("cannot look for restored events", metadata: ["error": "\(error)"])
        }
    }

    private func look() async {
        do {
            try await readOn()
        } catch {
            logger.warning("cannot read events", metadata: ["error": "\(error)"])
        }
        wake { $0.deadline <= .now }
    }

    /// Brings the window up to date and wakes the readers if there is something new.
    func readOn() async throws {
        let isWanted = state.withLock { state in
            if state.waiting.isEmpty, state.lastReader.duration(to: .now) > Self.rest { state.window = nil }
            return state.window != nil || !state.waiting.isEmpty
        }
        guard isWanted else { return }
        guard var place = state.withLock({ $0.window?.end }) else {
            let window = EventWindow(at: try await store.end(), capacity: capacity)
            state.withLock { $0.window = window }
            // What they have missed until now they read for themselves.
            wake { _ in true }
            return
        }
        var isLast = false
        while !isLast {
            let page = try await store.page(after: place, matching: EventFilter(), limit: EventStore.scanned)
            place = page.next
            isLast = page.isLast
            state.withLock { $0.window?.append(page) }
            if !page.events.isEmpty { wake { _ in true } }
        }
    }

    private func wake(_ isMeant: (borrowing Waiting) -> Bool) {
        let woken = state.withLock { state in
            let woken = state.waiting.filter { isMeant($0.value) }
            for ticket in woken.keys { state.waiting[ticket] = nil }
            return woken.values
        }
        for reader in woken { reader.continuation.resume() }
    }
}

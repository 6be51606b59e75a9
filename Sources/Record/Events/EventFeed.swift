import Logging
import ServiceLifecycle
import Store
import Synchronization

/// Tells many readers of new events with one reading of the database, and only while somebody wants to know.
///
/// Readers ask for what comes after their place, at their own pace, so nothing piles up for a slow one. The newest
/// events are kept in memory; who has fallen behind them reads from the database, a few at a time.
package final class EventFeed: Service, CustomStringConvertible {
    typealias Readers = EventReaders<CheckedContinuation<Void, Never>>

    private let store: EventStore
    private let interval: Duration
    private let intervalAtRest: Duration
    private let settleRestored: @Sendable () async throws -> Void
    private let logger: Logger
    let readers: Mutex<Readers>

    /// - Parameters:
    ///   - store: where events are read.
    ///   - interval: how often the database is asked; so late an event may be told of.
    ///   - atRest: the same while nobody reads.
    ///   - capacity: how many events are kept in memory.
    ///   - settleRestored: settles the order of events in a restored database. It is called once, before the first look.
    ///   - logger: gets a line when the database cannot be asked.
    init(
        store: EventStore,
        interval: Duration,
        atRest: Duration? = nil,
        capacity: Int = 10_000,
        settleRestored: @escaping @Sendable () async throws -> Void = {},
        logger: Logger
    ) {
        self.store = store
        self.interval = interval
        intervalAtRest = atRest ?? interval
        self.settleRestored = settleRestored
        self.logger = logger
        readers = Mutex(Readers(capacity: capacity, now: .now))
    }

    package var description: String { "event-feed" }

    // MARK: Reading

    /// The events after a place, as soon as there are some. At `deadline` the page may be empty; it still says where to
    /// go on.
    package func page(
        after cursor: EventCursor,
        matching filter: EventFilter,
        limit: Int,
        until deadline: ContinuousClock.Instant
    ) async throws -> EventPage {
        var place = cursor
        while true {
            let known = readers.withLock { readers in
                readers.page(after: place, matching: filter, limit: limit, now: .now)
            }
            let page: EventPage
            if let known {
                page = known
            } else {
                page = try await catchUp(after: place, matching: filter, limit: limit, until: deadline)
            }
            if !page.events.isEmpty || ContinuousClock.now >= deadline { return page }
            try Task.checkCancellation()
            if readers.withLock({ $0.isStopped }) { return page }
            place = page.next
            if page.isLast { await wait(after: place, until: deadline) }
        }
    }

    /// Reads from the database when it is the reader's turn. Whose turn does not come in time goes on from where it is.
    private func catchUp(
        after place: EventCursor,
        matching filter: EventFilter,
        limit: Int,
        until deadline: ContinuousClock.Instant
    ) async throws -> EventPage {
        let ticket = readers.withLock { $0.ticket() }
        await wait(as: ticket) { $0.standInLine($1, as: ticket, until: deadline) }
        guard readers.withLock({ $0.mayCatchUp(ticket) }) else {
            return EventPage(events: [], next: place, isLast: false)
        }
        defer { readers.withLock { $0.endCatchingUp(ticket) }?.resume() }
        return try await store.page(after: place, matching: filter, limit: limit)
    }

    /// Until the window has something after a place, the deadline has passed, or the task is cancelled.
    private func wait(after place: EventCursor, until deadline: ContinuousClock.Instant) async {
        let ticket = readers.withLock { $0.ticket() }
        await wait(as: ticket) { $0.wait($1, as: ticket, after: place, until: deadline) }
    }

    /// Until somebody resumes the reader, if `begin` says that it waits, or the task is cancelled.
    private func wait(
        as ticket: Int,
        _ begin: @Sendable (inout Readers, CheckedContinuation<Void, Never>) -> Bool
    ) async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // The handler may have run before there was anything to resume.
                let waits = readers.withLock { !Task.isCancelled && begin(&$0, continuation) }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            readers.withLock { $0.leave(ticket) }?.resume()
        }
    }

    // MARK: Asking the database

    package func run() async {
        await cancelWhenGracefulShutdown {
            await self.prepare()
            while !Task.isCancelled {
                await self.look()
                let pause = self.readers.withLock(\.isNeeded) ? self.interval : self.intervalAtRest
                try? await Task.sleep(for: pause)  // throws only when cancelled
            }
        }
        wake { $0.stop() }
    }

    private func prepare() async {
        do {
            try await settleRestored()
        } catch {
            logger.failed("cannot look for restored events", error)
        }
    }

    private func look() async {
        do {
            try await readOn()
        } catch {
            logger.failed("cannot read events", error)
        }
        wake { $0.due(now: .now) }
    }

    /// Brings the window up to date and wakes the readers if there is something new.
    func readOn() async throws {
        switch readers.withLock({ $0.look(now: .now) }) {
        case .nothing: return
        case .open:
            let end = try await store.end()
            wake { $0.opened(at: end) }
        case .readOn(var place):
            var isLast = false
            while !isLast {
                let page = try await store.page(after: place, matching: EventFilter(), limit: EventStore.scanned)
                place = page.next
                isLast = page.isLast
                wake { $0.append(page) }
            }
        }
    }

    private func wake(_ event: (inout Readers) -> [CheckedContinuation<Void, Never>]) {
        for reader in readers.withLock({ event(&$0) }) { reader.resume() }
    }
}

import APITypes
import ActivityModel
import CoreMetrics
import Metrics
import Registry
import Synchronization

/// Counts the readers that follow events: in total, for each key, and for each app by the keys that are bound to it.
///
/// Whoever has a bound key may make more of them, so the keys of one app share a limit. All bound keys together leave
/// some places to the others.
final class StreamSlots: Sendable {
    /// The most readers at a time.
    struct Limits {
        let all: Int
        let key: Int
        /// Of all keys that are bound to one app.
        let app: Int
        /// Of all bound keys.
        let bound: Int

        static let ofDaemon = Limits(all: 1_000, key: 100, app: 250, bound: 900)
    }

    private struct Taken {
        var all = 0
        var keys: [String: Int] = [:]
        var apps: [BundleID: Int] = [:]

        /// The limit that the next reader exceeds.
        func exceeded(by principal: Principal, of limits: Limits) -> Int? {
            if keys[principal.keyID, default: 0] >= limits.key { return limits.key }
            if let app = principal.app {
                if apps[app, default: 0] >= limits.app { return limits.app }
                if apps.values.reduce(0, +) >= limits.bound { return limits.bound }
            }
            return all >= limits.all ? limits.all : nil
        }

        mutating func count(_ principal: Principal, _ step: Int) {
            all += step
            keys[principal.keyID, default: 0] += step
            if keys[principal.keyID] == 0 { keys[principal.keyID] = nil }
            guard let app = principal.app else { return }
            apps[app, default: 0] += step
            if apps[app] == 0 { apps[app] = nil }
        }
    }

    private let limits: Limits
    private let readers: Gauge
    private let taken = Mutex(Taken())

    init(_ limits: Limits, metrics: any MetricsFactory) {
        self.limits = limits
        readers = Gauge(label: MetricLabel.eventReaders, factory: metrics)
    }

    /// Counts a reader for as long as the returned object exists.
    ///
    /// - Throws: 429 if a limit is reached.
    func take(for principal: Principal) throws(Problem) -> StreamSlot {
        let exceeded: Int? = taken.withLock { taken in
            if let exceeded = taken.exceeded(by: principal, of: limits) { return exceeded }
            taken.count(principal, 1)
            readers.record(taken.all)
            return nil
        }
        if let exceeded { throw .tooManyReaders(limit: exceeded, retryAfter: 5) }
        return StreamSlot(slots: self, principal: principal)
    }

    fileprivate func giveBack(_ principal: Principal) {
        taken.withLock { taken in
            taken.count(principal, -1)
            readers.record(taken.all)
        }
    }
}

/// One counted reader, for as long as this object exists. It is released even if the answer is never written.
final class StreamSlot: Sendable {
    private let slots: StreamSlots
    private let principal: Principal

    fileprivate init(slots: StreamSlots, principal: Principal) {
        self.slots = slots
        self.principal = principal
    }

    deinit {
        slots.giveBack(principal)
    }
}

import Synchronization
import Testing

@testable import Store

@Suite("Expiring cache")
struct ExpiringCacheTests {
    private final class ManualClock: Sendable {
        private let time = Mutex(ContinuousClock().now)
        var now: ContinuousClock.Instant { time.withLock { $0 } }
        func advance(by duration: Duration) { time.withLock { $0 += duration } }
    }

    private let clock = ManualClock()

    private func cache(limit: Int = 10) -> ExpiringCache<String, Int> {
        let clock = clock
        return ExpiringCache(lifetime: .seconds(3), grace: .seconds(1), limit: limit) { clock.now }
    }

    private func text(_ lookup: ExpiringCache<String, Int>.Lookup) -> String {
        switch lookup {
        case .fresh(let value): "fresh \(value)"
        case .outdated(let value): "outdated \(value)"
        case .missing: "missing"
        }
    }

    @Test("A value is believed for its lifetime; then one asker looks it up while others go on with it")
    func expires() {
        let cache = cache()
        #expect(text(cache.lookUp("a")) == "missing")
        cache.store(1, for: "a", lookedUpIn: cache.generation)
        clock.advance(by: .milliseconds(2_999))
        #expect(text(cache.lookUp("a")) == "fresh 1")
        clock.advance(by: .milliseconds(1))
        #expect(text(cache.lookUp("a")) == "outdated 1")
        #expect(text(cache.lookUp("a")) == "fresh 1")
        clock.advance(by: .seconds(1))
        #expect(text(cache.lookUp("a")) == "outdated 1")
        cache.store(2, for: "a", lookedUpIn: cache.generation)
        #expect(text(cache.lookUp("a")) == "fresh 2")
    }

    @Test("Nobody goes on with a value that is older than its grace time")
    func tooOld() {
        let cache = cache()
        cache.store(1, for: "a", lookedUpIn: cache.generation)
        clock.advance(by: .seconds(5))
        #expect(text(cache.lookUp("a")) == "outdated 1")
        #expect(text(cache.lookUp("a")) == "outdated 1")
    }

    @Test(
        "When nobody can look it up, a value is not believed beyond its lifetime and the grace, however often it is asked for"
    )
    func unending() {
        let cache = cache()
        cache.store(1, for: "a", lookedUpIn: cache.generation)
        clock.advance(by: .milliseconds(3_000))
        #expect(text(cache.lookUp("a")) == "outdated 1")
        for _ in 0..<9 {
            clock.advance(by: .milliseconds(100))
            #expect(text(cache.lookUp("a")) == "fresh 1")
        }
        for _ in 0..<30 {
            clock.advance(by: .milliseconds(100))
            #expect(text(cache.lookUp("a")) == "outdated 1")
        }
    }

    @Test("What was looked up before everything was removed is not kept after it")
    func overtaken() {
        let cache = cache()
        let generation = cache.generation
        cache.removeAll()
        cache.store(1, for: "a", lookedUpIn: generation)
        #expect(text(cache.lookUp("a")) == "missing")
        cache.store(2, for: "a", lookedUpIn: cache.generation)
        #expect(text(cache.lookUp("a")) == "fresh 2")
    }

    @Test("It stays within its limit and prefers values that are still good")
    func limit() {
        let cache = cache(limit: 2)
        cache.store(1, for: "a", lookedUpIn: cache.generation)
        clock.advance(by: .seconds(4))
        cache.store(2, for: "b", lookedUpIn: cache.generation)
        cache.store(3, for: "c", lookedUpIn: cache.generation)
        #expect(text(cache.lookUp("a")) == "missing")
        #expect(text(cache.lookUp("b")) == "fresh 2")
        cache.store(4, for: "d", lookedUpIn: cache.generation)
        #expect(text(cache.lookUp("b")) == "missing")
        #expect(text(cache.lookUp("d")) == "fresh 4")
    }

    @Test("What is stored no more is let go by and by, far below the limit; what is stored again stays")
    func oldValues() {
        let cache = cache(limit: 1_000)
        cache.store(1, for: "once", lookedUpIn: cache.generation)
        for round in 1...3 {
            clock.advance(by: .seconds(4))
            cache.store(round, for: "often", lookedUpIn: cache.generation)
        }
        #expect(text(cache.lookUp("once")) == "missing")
        #expect(text(cache.lookUp("often")) == "fresh 3")
        clock.advance(by: .seconds(2))
        cache.store(9, for: "other", lookedUpIn: cache.generation)
        #expect(text(cache.lookUp("often")) == "fresh 3")
    }

    @Test("A removed value is missing")
    func removal() {
        let cache = cache()
        cache.store(1, for: "a", lookedUpIn: cache.generation)
        cache.remove("a")
        #expect(text(cache.lookUp("a")) == "missing")
    }
}

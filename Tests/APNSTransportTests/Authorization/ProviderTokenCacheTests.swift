import ActivityModel
import Testing

@testable import APNSTransport

@Suite("What a sender remembers of provider tokens")
struct ProviderTokenCacheTests {
    private let start = ContinuousClock.now
    private let first = ProviderToken(text: "first", issuedAt: 1)
    private let second = ProviderToken(text: "second", issuedAt: 2)

    private func minute(_ minutes: Int64) -> ContinuousClock.Instant { start + .seconds(60 * minutes) }

    /// A cache that got `first` at the start, which was `age` minutes old then.
    private func cache(age: Int64 = 0) -> ProviderTokenCache {
        var cache = ProviderTokenCache()
        cache.answered(IssuedProviderToken(first, age: 60 * age), replacing: nil, now: start)
        return cache
    }

    @Test("without a token the store is asked; with a young one it is not")
    func young() {
        var new = ProviderTokenCache()
        #expect(new.next(now: start) == .ask(meanwhile: nil))
        var cache = cache()
        #expect(cache.next(now: start) == .use(first))
        #expect(cache.next(now: minute(49)) == .use(first))
    }

    @Test("from the 50th minute on one request asks, and the present token serves meanwhile and when the store is away")
    func refresh() {
        var cache = cache(age: 10)
        #expect(cache.next(now: minute(39)) == .use(first))
        #expect(cache.next(now: minute(40)) == .ask(meanwhile: first))
        #expect(cache.next(now: minute(40)) == .use(first), "one asks, the others go on")
        #expect(cache.next(now: minute(41)) == .ask(meanwhile: first), "the store was away")
        cache.answered(IssuedProviderToken(second, age: 5), replacing: nil, now: minute(41))
        #expect(cache.next(now: minute(41)) == .use(second))
        #expect(cache.next(now: minute(90)) == .use(second))
        #expect(cache.next(now: minute(91)) == .ask(meanwhile: second))
    }

    @Test("a store that keeps the old token is asked once a minute, until Apple's hour is over")
    func kept() {
        var cache = cache()
        #expect(cache.next(now: minute(50)) == .ask(meanwhile: first))
        cache.answered(IssuedProviderToken(first, age: 50 * 60), replacing: nil, now: minute(50))
        #expect(cache.next(now: minute(50)) == .use(first))
        #expect(cache.next(now: minute(51)) == .ask(meanwhile: first))
        #expect(cache.next(now: minute(60)) == .ask(meanwhile: nil))
    }

    @Test("a store has all the time of a request that has no token, and a third of it where one serves meanwhile")
    func patience() {
        let due = start + .seconds(9)
        #expect(ProviderTokenCache.patience(meanwhile: nil, until: due, now: start) == due)
        #expect(ProviderTokenCache.patience(meanwhile: first, until: due, now: start) == start + .seconds(3))
    }

    @Test("a complaint about too many tokens is passed on once a minute")
    func tooMany() {
        var cache = cache()
        #expect(cache.tooMany(now: minute(1)) == true)
        #expect(cache.tooMany(now: minute(1) + .seconds(59)) == false)
        #expect(cache.tooMany(now: minute(2)) == true)
        #expect(cache.next(now: minute(2)) == .use(first))
    }

    @Test("a token that Apple calls expired has a successor, or none for a minute")
    func expired() {
        var cache = cache()
        #expect(cache.successor(of: first, now: minute(1)) == .ask(meanwhile: nil))
        cache.answered(IssuedProviderToken(first, age: 60), replacing: first, now: minute(1))
        #expect(cache.successor(of: first, now: minute(1)) == nil)
        #expect(cache.successor(of: first, now: minute(2)) == .ask(meanwhile: nil))
        cache.answered(IssuedProviderToken(second, age: 0), replacing: first, now: minute(2))
        #expect(cache.successor(of: first, now: minute(2)) == .use(second), "another request had it replaced")
    }
}

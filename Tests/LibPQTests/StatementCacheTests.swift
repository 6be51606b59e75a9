@testable import LibPQ
import Testing

@Suite("Which statements stay prepared")
struct StatementCacheTests {
    private func key(_ number: Int) -> StatementCache.Key {
        StatementCache.Key(sql: "SELECT \(number)", types: [])
    }

    @Test("A statement is found again under its text and its types")
    func lookup() {
        var cache = StatementCache(capacity: 8)
        cache.insert(StatementCache.Key(sql: "SELECT $1", types: [25]), name: "s1")
        #expect(cache.name(for: StatementCache.Key(sql: "SELECT $1", types: [25])) == "s1")
        #expect(cache.name(for: StatementCache.Key(sql: "SELECT $1", types: [20])) == nil)
        #expect(cache.newName() != cache.newName())
    }

    @Test("The one that was not used for the longest time goes first, an eighth at once")
    func eviction() {
        var cache = StatementCache(capacity: 16)
        for number in 1...16 { cache.insert(key(number), name: "s\(number)") }
        #expect(cache.name(for: key(1)) == "s1")
        cache.insert(key(17), name: "s17")
        #expect(cache.count == 14)
        #expect(Set(cache.takeDoomed()) == ["s2", "s3", "s4"])
        #expect(cache.doomed.isEmpty)
        #expect(cache.name(for: key(1)) == "s1")
        #expect(cache.name(for: key(2)) == nil)
    }

    @Test("A statement that is of no use any more is forgotten here and on the server")
    func removal() {
        var cache = StatementCache(capacity: 4)
        cache.insert(key(1), name: "s1")
        cache.remove(key(1))
        cache.remove(key(2))
        #expect(cache.name(for: key(1)) == nil)
        #expect(cache.doomed == ["s1"])
    }
}

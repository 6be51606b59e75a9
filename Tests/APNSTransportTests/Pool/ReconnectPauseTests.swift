import Testing

@testable import APNSTransport

@Suite("The pause before another connection")
struct ReconnectPauseTests {
    private let start = ContinuousClock.now
    private let fresh = ReconnectPause(shortest: .milliseconds(500), longest: .seconds(30))

    @Test("nothing has to wait at first")
    func none() {
        #expect(fresh.until(now: start) == nil)
    }

    @Test("each failure makes the next attempt wait twice as long, up to the limit, and less by chance")
    func doubling() throws {
        var pause = fresh
        var now = start
        var delays: [Duration] = []
        for _ in 0..<9 {
            // Each attempt begins when the pause is over and fails at once.
            let opened = now + .nanoseconds(1)
            pause.lost(opened: opened, connected: nil, now: opened, chance: 1)
            let end = try #require(pause.until(now: opened))
            delays.append(opened.duration(to: end))
            #expect(pause.until(now: end) == nil)
            now = end
        }
        #expect(delays == [0.5, 1, 2, 4, 8, 16, 30, 30, 30].map { Duration.seconds($0) })
        pause.lost(opened: now + .seconds(1), connected: nil, now: now + .seconds(1), chance: 0)
        #expect(pause.until(now: now + .seconds(1)) == now + .seconds(16))
    }

    @Test("a connection that answers and then ends young is a failure like any other")
    func shortLife() {
        var pause = fresh
        pause.lost(opened: start, connected: start + .seconds(1), now: start + .seconds(30), chance: 1)
        #expect(pause.until(now: start + .seconds(30)) == start + .milliseconds(30_500))
    }

    @Test("a connection that has served for half a minute is replaced without a pause")
    func longLife() {
        var pause = fresh
        pause.lost(opened: start, connected: start + .seconds(1), now: start + .seconds(31), chance: 1)
        #expect(pause.until(now: start + .seconds(31)) == nil)
    }

    @Test("connections that end together are one failure")
    func restartOfTheServer() {
        var pause = fresh
        for _ in 0..<16 {
            pause.lost(opened: start, connected: start, now: start + .seconds(1), chance: 1)
        }
        #expect(pause.until(now: start + .seconds(1)) == start + .milliseconds(1500))
    }

    @Test("a minute without a failure forgives the earlier ones")
    func forgiveness() {
        var pause = fresh
        pause.lost(opened: start, connected: nil, now: start, chance: 1)
        pause.lost(opened: start + .seconds(1), connected: nil, now: start + .seconds(1), chance: 1)
        var sooner = pause
        sooner.lost(opened: start + .seconds(50), connected: nil, now: start + .seconds(60), chance: 1)
        #expect(sooner.until(now: start + .seconds(60)) == start + .seconds(62))
        pause.lost(opened: start + .seconds(50), connected: nil, now: start + .seconds(61), chance: 1)
        #expect(pause.until(now: start + .seconds(61)) == start + .milliseconds(61_500))
    }

    @Test("a failure matters for a minute, and so for longer than the pause that follows it")
    func memory() {
        var pause = fresh
        #expect(pause.isForgiven(now: start))
        pause.lost(opened: start, connected: nil, now: start, chance: 1)
        #expect(!pause.isForgiven(now: start + .seconds(59)))
        #expect(pause.isForgiven(now: start + .seconds(60)))
    }
}

import ActivityModel
import Store
import TestSupport
import Testing

/// A ring of destinations that remembers what each was sent, walked by the machine under test.
private struct Ring {
    var keys: [Int64]
    var carousel = Carousel()
    var received: [Int64: [Revision]] = [:]
    var alerts: [Int64: [Revision]] = [:]
    var pushes = 0

    /// Sends one batch of at most `limit`; returns false when there was nothing to do.
    mutating func step(limit: Int) -> Bool {
        guard case .send(let revision, let alert, let after, let through) = carousel.next else { return false }
        let candidates = keys.filter { $0 > after && $0 <= (through ?? .max) }.sorted()
        let batch = candidates.prefix(limit)
        for key in batch {
            received[key, default: []].append(revision)
            if let alert { alerts[key, default: []].append(alert) }
            pushes += 1
        }
        if !batch.isEmpty { carousel.reached() }
        carousel.acknowledge(through: batch.last, reachedBound: batch.count == candidates.count)
        return true
    }

    mutating func finish(limit: Int) {
        while step(limit: limit) {}
    }
}

@Suite("The carousel")
struct CarouselTests {
    @Test("rests when nothing has been accepted")
    func rests() {
        #expect(Carousel().next == .rest)
    }

    @Test("sends one revision once to each destination")
    func onePass() {
        var ring = Ring(keys: Array(1...10))
        ring.carousel.turn(to: 1, alert: 1)
        ring.finish(limit: 3)
        #expect(ring.pushes == 10)
        #expect(ring.alerts.values.allSatisfy { $0 == [1] })
        #expect(ring.carousel.completed == 1)
    }

    @Test("goes on with a newer revision and comes back to where it first sent it")
    func newerRevisionMidPass() {
        var ring = Ring(keys: Array(1...10))
        ring.carousel.turn(to: 1, alert: nil)
        _ = ring.step(limit: 4)
        ring.carousel.turn(to: 2, alert: nil)
        ring.finish(limit: 4)
        #expect(ring.received[1] == [1, 2])
        #expect(ring.received[4] == [1, 2])
        #expect(ring.received[5] == [2])
        #expect(ring.pushes == 14)
    }

    @Test("has come back when the last of a batch stands at the bound, though nobody has looked behind it")
    func lastAtBound() {
        var carousel = Carousel()
        carousel.turn(to: 1, alert: nil)
        carousel.acknowledge(through: 5, reachedBound: false)
        carousel.turn(to: 2, alert: nil)
        carousel.acknowledge(through: nil, reachedBound: true)
        #expect(carousel.next == .send(revision: 2, alert: nil, after: 0, through: 5))
        carousel.acknowledge(through: 5, reachedBound: false)
        #expect(carousel.next == .rest)
        #expect(carousel.completed == 2)
    }

    @Test("lets an unheard alert ride on newer states, once per destination")
    func alertRides() {
        var ring = Ring(keys: Array(1...9))
        ring.carousel.turn(to: 1, alert: 1)
        _ = ring.step(limit: 3)
        ring.carousel.turn(to: 2, alert: nil)
        _ = ring.step(limit: 3)
        ring.carousel.turn(to: 3, alert: nil)
        ring.finish(limit: 2)
        #expect(ring.received.values.allSatisfy { $0.last == 3 })
        #expect(ring.alerts.mapValues(\.count).values.allSatisfy { $0 == 1 })
        #expect(ring.alerts.count == 9)
    }

    @Test("carries the alert of a change that was never sent, and turns to no revision twice")
    func alertOfMerged() {
        var ring = Ring(keys: Array(1...3))
        ring.carousel.turn(to: 3, alert: 2)
        ring.carousel.turn(to: 3, alert: 3)
        ring.carousel.turn(to: 1, alert: 1)
        ring.finish(limit: 2)
        #expect(ring.received.values.allSatisfy { $0 == [3] })
        #expect(ring.alerts.values.allSatisfy { $0 == [2] })
        #expect(ring.alerts.count == 3)
    }

    @Test("knows what it has sent last, whatever it passes while nobody rides")
    func passedUnsent() {
        var ring = Ring(keys: [1])
        ring.carousel.turn(to: 1, alert: nil)
        ring.finish(limit: 1)
        #expect(ring.carousel.unsentAfter == nil)
        ring.keys = []
        for revision in [3, 4] as [Revision] {
            ring.carousel.turn(to: revision, alert: nil)
            ring.finish(limit: 1)
            #expect((ring.carousel.completed, ring.carousel.sent) == (revision, 1))
        }
        ring.keys = [2]
        ring.carousel.turn(to: 6, alert: nil)
        #expect((ring.carousel.upcoming, ring.carousel.sent) == (6, 1))
        ring.finish(limit: 1)
        #expect((ring.carousel.upcoming, ring.carousel.sent) == (7, 6))
    }

    @Test("forgets what it passed once somebody was sent newer", arguments: [(1, 1), (2, 2), (4, 4), (5, 4), (6, 4)])
    func served(revision: Revision, sent: Revision) {
        var carousel = Carousel(completed: 1)
        carousel.turn(to: 4, alert: nil)
        carousel.acknowledge(through: nil, reachedBound: true)
        carousel.turn(to: 5, alert: nil)
        carousel.served(revision)
        #expect(carousel.sent == sent)
        carousel.acknowledge(through: nil, reachedBound: true)
        #expect(carousel.sent == sent)
        carousel.served(5)
        #expect((carousel.sent, carousel.unsentAfter) == (5, nil))
    }

    @Test("goes on from the stored value after a crash and repeats at most one batch")
    func crash() {
        var ring = Ring(keys: Array(1...20))
        ring.carousel.turn(to: 1, alert: nil)
        _ = ring.step(limit: 5)
        let stored = ring.carousel
        _ = ring.step(limit: 5)
        ring.carousel = stored
        ring.finish(limit: 5)
        #expect(ring.pushes == 25)
        #expect(ring.received.count == 20)
    }

    @Test("holds its invariants over random walks", arguments: 0..<500)
    func randomWalks(seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        var ring = Ring(
            keys: Array(
                Set((0..<Int.random(in: 0...40, using: &random)).map { _ in Int64.random(in: 1...60, using: &random) })
            )
        )
        var newest: Revision = 0
        var newestAlert: Revision?
        var turns = 0
        for _ in 0..<60 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                // Several changes may come before the walk turns; the newest alert among them rides.
                let before = newest
                newest += Int64.random(in: 1...3, using: &random)
                let alert = Bool.random(using: &random) ? Revision.random(in: before + 1...newest, using: &random) : nil
                newestAlert = alert ?? newestAlert
                ring.carousel.turn(to: newest, alert: alert)
                turns += 1
            case 1:
                ring.carousel = Carousel(
                    cursor: ring.carousel.cursor,
                    completed: ring.carousel.completed,
                    lap: ring.carousel.lap,
                    alert: ring.carousel.alert,
                    unsentAfter: ring.carousel.unsentAfter
                )
            default:
                _ = ring.step(limit: Int.random(in: 1...7, using: &random))
            }
            #expect(ring.carousel.sent == ring.received.values.compactMap(\.last).max() ?? 0)
        }
        ring.finish(limit: 3)
        #expect(ring.carousel.completed == newest)
        for key in ring.keys where newest > 0 {
            let revisions = ring.received[key] ?? []
            #expect(revisions.last == newest)
            #expect(revisions == Array(Set(revisions)).sorted())
            let alerts = ring.alerts[key] ?? []
            #expect(alerts == Array(Set(alerts)).sorted(), "an alert was heard twice")
            if let newestAlert { #expect(alerts.last == newestAlert) }
        }
        // A burst costs the passes begun plus one lap, never a pass per change for everyone.
        #expect(ring.pushes <= ring.keys.count * max(turns, 1))
    }
}

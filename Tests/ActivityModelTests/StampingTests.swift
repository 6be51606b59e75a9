import ActivityModel
import JSON
import TestSupport
import Testing

@Suite("Stamping")
struct StampingTests {
    @Test(
        "A change is stamped at accept if that is at most 2 s ahead",
        arguments: [(nil, 100), (50, 100), (99, 100), (100, 101), (101, 102), (102, nil), (5_000, nil)]
            as [(Timestamp?, Timestamp?)]
    )
    func atAccept(last: Timestamp?, stamp: Timestamp?) {
        #expect(Stamping.atAccept(now: 100, last: last) == stamp)
    }

    @Test(
        "When its turn has come, order wins",
        arguments: [(nil, 100), (99, 100), (100, 101), (102, 103), (5_000, 5_001)] as [(Timestamp?, Timestamp)]
    )
    func whenSent(last: Timestamp?, stamp: Timestamp) {
        #expect(Stamping.whenSent(now: 100, last: last) == stamp)
    }

    @Test("A sender waits until its stamp is near the clock, but not for a clock that stepped back")
    func pacing() {
        #expect(Stamping.delayBeforeStamping(now: 100, last: nil) == 0)
        #expect(Stamping.delayBeforeStamping(now: 100, last: 101) == 0)
        #expect(Stamping.delayBeforeStamping(now: 100, last: 102) == 1)
        #expect(Stamping.delayBeforeStamping(now: 100, last: 104) == 3)
        #expect(Stamping.delayBeforeStamping(now: 100, last: 3_700) == 0)
        #expect(Stamping.clockSkew(now: 100, last: 105) == nil)
        #expect(Stamping.clockSkew(now: 100, last: 3_700) == 3_600)
        #expect(Stamping.clockSkew(now: 100, last: nil) == nil)
    }

    @Test("A stamp is fresh for 30 s")
    func freshness() {
        #expect(!Stamping.needsFreshStamp(age: -50))
        #expect(!Stamping.needsFreshStamp(age: 30))
        #expect(Stamping.needsFreshStamp(age: 30.1))
    }

    @Test(
        "What a destination is sent never decreases, differs between revisions and stays near the clock, whatever happens"
    )
    func neverDecreases() {
        for seed in 0..<200 as Range<UInt64> {
            var generator = SeededRandom(seed: seed)
            var now: Timestamp = 1_700_000_000
            let first = Stamping.whenSent(now: now, last: nil)
            var machine = ActivityStateMachine(
                state: .live,
                standing: ActivityStanding(revision: 1, lastTimestamp: first, contentState: 0)
            )
            var sent: (revision: Revision, stamp: Timestamp) = (1, first)
            var newest: (revision: Revision, stamp: Timestamp?) = (1, sent.stamp)
            var lastStamp = sent.stamp
            var highestClock = now
            for step in 0..<200 as Range<Int64> {
                now += [0, 0, 0, 0, 1, 1, 2, 40, -90][Int.random(in: 0..<9, using: &generator)]
                highestClock = max(highestClock, now)
                // The machine is rebuilt as from the stored rows, in which a sender may have moved the last stamp.
                var standing = machine.standing
                standing.lastTimestamp = lastStamp
                machine = ActivityStateMachine(state: .live, standing: standing)
                let update = ActivityStateMachine.Update(contentState: .number(.init(step)))
                if case .accept(let revision, let stamp) = machine.update(update, now: now) {
                    newest = (revision, stamp)
                    if let stamp {
                        #expect(stamp <= now + 2)
                        #expect(stamp > lastStamp)
                        lastStamp = stamp
                    }
                }
                guard Int.random(in: 0..<3, using: &generator) == 0 else { continue }
                // The sender's turn: it waits as told, stamps what is unstamped or too old, and sends the newest.
                now += Stamping.delayBeforeStamping(now: now, last: lastStamp)
                highestClock = max(highestClock, now)
                var stamp = newest.stamp
                if stamp == nil || Stamping.needsFreshStamp(age: Double(now - (stamp ?? 0))) {
                    let fresh = Stamping.whenSent(now: now, last: lastStamp)
                    #expect(fresh > lastStamp)
                    (stamp, lastStamp) = (fresh, fresh)
                    newest.stamp = fresh
                }
                let leaving = (revision: newest.revision, stamp: stamp ?? 0)
                #expect(leaving.stamp >= sent.stamp)
                if leaving.revision != sent.revision { #expect(leaving.stamp > sent.stamp) }
                sent = leaving
                // Only a clock that stepped back can leave stamps behind that run further ahead of it; each send then
                // adds one second.
                #expect(lastStamp <= highestClock + 2 + 200)
            }
        }
    }

    @Test("With a clock that only moves on, no stamp is ever more than 2 s ahead")
    func nearTheClock() {
        var generator = SeededRandom(seed: 7)
        var now: Timestamp = 1_700_000_000
        var last: Timestamp?
        for _ in 0..<10_000 {
            now += Int64.random(in: 0...1, using: &generator)
            if Bool.random(using: &generator) {
                last = Stamping.atAccept(now: now, last: last) ?? last
            } else {
                now += Stamping.delayBeforeStamping(now: now, last: last)
                last = Stamping.whenSent(now: now, last: last)
            }
            #expect((last ?? now) <= now + 2)
        }
    }
}

import Testing

@testable import APNSTransport

@Suite("The growth of a pool")
struct PoolGrowthTests {
    private let start = ContinuousClock.now

    private func machine(_ build: (inout ConnectionStateMachine) -> Void) -> ConnectionStateMachine {
        var machine = ConnectionStateMachine(now: start)
        build(&machine)
        return machine
    }

    private var serving: ConnectionStateMachine {
        machine {
            $0.connected(now: start)
            $0.answered(status: 200, now: start)
        }
    }

    /// A pool whose answers take 50 ms and whose connections take 150 ms to open.
    private var measured: PoolGrowth {
        var growth = PoolGrowth(configuration: APNSClientConfiguration())
        growth.proved(after: .milliseconds(150))
        growth.answered(after: .milliseconds(50))
        growth.heard(now: start)
        return growth
    }

    @Test("a connection is opened for waiting work only, one at a time, up to the limit")
    func growth() {
        let growth = PoolGrowth(configuration: APNSClientConfiguration())
        func decide(_ waiting: Int, _ connections: [ConnectionStateMachine]) -> PoolGrowth.Decision {
            growth.decide(waiting: waiting, capacity: 0, connections: connections, now: start)
        }
        #expect(decide(0, []) == .none)
        #expect(decide(1, []) == .open)
        #expect(decide(9, [machine { _ in }]) == .none)
        #expect(decide(9, [machine { $0.connected(now: start) }]) == .none)
        #expect(decide(9, [serving]) == .open)
        #expect(decide(9, Array(repeating: serving, count: 15)) == .open)
        #expect(decide(9, Array(repeating: serving, count: 16)) == .none)
    }

    @Test(
        "another connection has to be worth its handshakes: the waiting pushes would take longer than it takes to open",
        arguments: [(1, 1), (3000, 1), (3001, 2), (6000, 2), (6001, 3), (24_000, 8), (24_001, 9), (1_000_000, 16)]
    )
    func littlesLaw(waiting: Int, expected: Int) {
        let growth = measured
        var count = 1
        while count < 100,
            growth.decide(
                waiting: waiting,
                capacity: count * 1000,
                connections: Array(repeating: serving, count: count),
                now: start
            ) == .open
        {
            count += 1
        }
        #expect(count == expected)
    }

    @Test("answers that stay out count as slow, so that little work does not wait behind a connection that is stuck")
    func silence() {
        let growth = measured
        func decide(at now: ContinuousClock.Instant) -> PoolGrowth.Decision {
            growth.decide(waiting: 500, capacity: 1000, connections: [serving], now: now)
        }
        #expect(decide(at: start) == .wait(until: start + .milliseconds(150)))
        #expect(decide(at: start + .milliseconds(299)) == .wait(until: start + .milliseconds(449)))
        #expect(decide(at: start + .milliseconds(301)) == .open)
    }

    @Test("the time of answers is smoothed: one that is late does not open connections")
    func smoothing() {
        var growth = measured
        growth.answered(after: .milliseconds(450))
        #expect(
            growth.decide(waiting: 1500, capacity: 1000, connections: [serving], now: start)
                == .wait(until: start + .milliseconds(150))
        )
        growth.answered(after: .milliseconds(450))
        #expect(growth.decide(waiting: 1500, capacity: 1000, connections: [serving], now: start) == .open)
    }

    @Test("a draining connection counts neither as help nor against the limit")
    func draining() {
        let growth = PoolGrowth(configuration: APNSClientConfiguration())
        let draining = machine { _ = $0.retire() }
        #expect(growth.decide(waiting: 1, capacity: 0, connections: [draining], now: start) == .open)
        let many = [draining] + Array(repeating: serving, count: 15)
        #expect(growth.decide(waiting: 1, capacity: 0, connections: many, now: start) == .open)
    }

    @Test("a first request that stays without an answer keeps others waiting for two seconds only")
    func patience() {
        let growth = PoolGrowth(configuration: APNSClientConfiguration())
        let proving = machine {
            $0.connected(now: start)
            $0.sent(now: start)
        }
        func decide(at now: ContinuousClock.Instant) -> PoolGrowth.Decision {
            growth.decide(waiting: 1, capacity: 0, connections: [proving], now: now)
        }
        #expect(decide(at: start + .milliseconds(1999)) == .none)
        #expect(decide(at: start + .seconds(2)) == .open)
    }

    @Test("after a failure nothing is opened before the pause is over")
    func pause() {
        var growth = PoolGrowth(configuration: APNSClientConfiguration())
        growth.lost(machine { _ in }, now: start, chance: 1)
        let end = start + .milliseconds(500)
        #expect(growth.decide(waiting: 1, capacity: 0, connections: [], now: start) == .wait(until: end))
        #expect(growth.decide(waiting: 1, capacity: 0, connections: [], now: end) == .open)
    }

    @Test("idle connections are given back after ten minutes, the last one after a day, those of a changed key soon")
    func surplus() {
        let growth = PoolGrowth(configuration: APNSClientConfiguration())
        func isSurplus(isLast: Bool, isAbandoned: Bool = false, after seconds: Int) -> Bool {
            growth.isSurplus(
                lastUse: start,
                isLast: isLast,
                isAbandoned: isAbandoned,
                now: start + .seconds(seconds)
            )
        }
        #expect(!isSurplus(isLast: false, after: 599))
        #expect(isSurplus(isLast: false, after: 600))
        #expect(!isSurplus(isLast: true, after: 86_399))
        #expect(isSurplus(isLast: true, after: 86_400))
        #expect(!isSurplus(isLast: true, isAbandoned: true, after: 59))
        #expect(isSurplus(isLast: true, isAbandoned: true, after: 60))
    }
}

import Testing

@testable import APNSTransport

@Suite("The state of one connection")
struct ConnectionStateMachineTests {
    private let start = ContinuousClock.now

    private func serving() -> ConnectionStateMachine {
        var machine = ConnectionStateMachine(now: start)
        machine.connected(now: start)
        machine.answered(status: 200)
        return machine
    }

    @Test("a new connection carries one request until an answer proves its token")
    func proving() {
        var machine = ConnectionStateMachine(now: start)
        #expect(machine.room(open: 0, available: 1000, now: start) == 0)
        machine.connected(now: start)
        #expect(machine.room(open: 0, available: 1000, now: start) == 1)
        #expect(machine.room(open: 1, available: 999, now: start) == 0)
        #expect(machine.room(open: 0, available: 0, now: start) == 0)
        machine.sent(now: start)
        #expect(machine.answered(status: 403) == false)
        #expect(machine.hasAnswered)
        #expect(machine.room(open: 0, available: 1000, now: start) == 1)
        #expect(machine.answered(status: 410) == true)
        #expect(machine.room(open: 0, available: 1000, now: start) == 1000)
        #expect(machine.room(open: 10, available: 990, now: start) == 990)
        #expect(machine.answered(status: 200) == false)
    }

    @Test(
        "an answer proves the token unless it is 403",
        arguments: [(200, true), (400, true), (429, true), (403, false)]
    )
    func proof(status: Int, isProof: Bool) {
        var machine = ConnectionStateMachine(now: start)
        machine.connected(now: start)
        #expect(machine.answered(status: status) == isProof)
    }

    @Test("a refused stream pauses the connection and lowers its limit, which answers raise again")
    func refused() {
        var machine = serving()
        let pause = start + .milliseconds(100)
        machine.refused(open: 7, until: pause)
        #expect(machine.room(open: 0, available: 1000, now: start) == 0)
        #expect(machine.room(open: 0, available: 1000, now: pause) == 7)
        machine.answered(status: 200)
        machine.answered(status: 200)
        #expect(machine.room(open: 5, available: 1000, now: pause) == 4)
        machine.refused(open: 0, until: pause)
        #expect(machine.room(open: 0, available: 1000, now: pause) == 1)
    }

    @Test("a draining connection takes nothing, and drains once")
    func draining() {
        var machine = serving()
        #expect(machine.retire() == true)
        #expect(machine.retire() == false)
        #expect(machine.room(open: 0, available: 1000, now: start) == 0)
    }

    @Test("a suspect connection waits for a sign of life: an answer, or a pong")
    func suspect() {
        var machine = serving()
        #expect(machine.suspect() == true)
        #expect(machine.suspect() == false)
        #expect(machine.room(open: 0, available: 1000, now: start) == 0)
        machine.isAlive(now: start)
        #expect(machine.room(open: 0, available: 1000, now: start) == 1000)
        #expect(machine.suspect() == true)
        machine.answered(status: 200)
        #expect(machine.room(open: 0, available: 1000, now: start) == 1000)
    }

    @Test("a ping is due after so much idle time, and then again after as much")
    func ping() {
        var machine = serving()
        let hour = Duration.seconds(3600)
        #expect(machine.isPingDue(now: start + .seconds(3599), interval: hour) == false)
        #expect(machine.isPingDue(now: start + hour, interval: hour) == true)
        #expect(machine.isPingDue(now: start + hour + .seconds(15), interval: hour) == false)
        #expect(machine.isPingDue(now: start + hour * 2, interval: hour) == true)
        machine.sent(now: start + hour * 2)
        #expect(machine.isPingDue(now: start + hour * 2 + .seconds(3599), interval: hour) == false)
    }
}

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
            $0.answered(status: 200)
        }
    }

    @Test("a connection is opened for waiting work only, one at a time, up to the limit")
    func growth() {
        let growth = PoolGrowth(configuration: APNSClientConfiguration())
        #expect(growth.decide(waiting: 0, connections: [], now: start) == .none)
        #expect(growth.decide(waiting: 1, connections: [], now: start) == .open)
        #expect(growth.decide(waiting: 9, connections: [machine { _ in }], now: start) == .none)
        #expect(growth.decide(waiting: 9, connections: [machine { $0.connected(now: start) }], now: start) == .none)
        #expect(growth.decide(waiting: 9, connections: [serving], now: start) == .open)
        #expect(growth.decide(waiting: 9, connections: [serving, serving, serving], now: start) == .open)
        #expect(growth.decide(waiting: 9, connections: Array(repeating: serving, count: 4), now: start) == .none)
    }

    @Test("a draining connection counts neither as help nor against the limit")
    func draining() {
        let growth = PoolGrowth(configuration: APNSClientConfiguration())
        let draining = machine { _ = $0.retire() }
        #expect(growth.decide(waiting: 1, connections: [draining], now: start) == .open)
        #expect(
            growth.decide(waiting: 1, connections: [draining] + Array(repeating: serving, count: 3), now: start)
                == .open
        )
    }

    @Test("a first request that stays without an answer keeps others waiting for two seconds only")
    func patience() {
        let growth = PoolGrowth(configuration: APNSClientConfiguration())
        let proving = machine {
            $0.connected(now: start)
            $0.sent(now: start)
        }
        #expect(growth.decide(waiting: 1, connections: [proving], now: start + .milliseconds(1999)) == .none)
        #expect(growth.decide(waiting: 1, connections: [proving], now: start + .seconds(2)) == .open)
    }

    @Test("failures make the next attempt wait, twice as long each time, up to the limit, and less by chance")
    func backoff() {
        var growth = PoolGrowth(configuration: APNSClientConfiguration())
        var delays: [Duration] = []
        for _ in 0..<9 {
            growth.failed(now: start, chance: 1)
            guard case .wait(let moment) = growth.decide(waiting: 1, connections: [], now: start) else {
                Issue.record("no wait after a failure")
                return
            }
            delays.append(start.duration(to: moment))
            #expect(growth.decide(waiting: 1, connections: [], now: moment) == .open)
        }
        #expect(delays == [0.5, 1, 2, 4, 8, 16, 30, 30, 30].map { Duration.seconds($0) })
        growth.failed(now: start, chance: 0)
        #expect(growth.decide(waiting: 1, connections: [], now: start) == .wait(until: start + .seconds(15)))
        growth.proved()
        #expect(growth.decide(waiting: 1, connections: [], now: start) == .open)
        growth.failed(now: start, chance: 1)
        #expect(growth.decide(waiting: 1, connections: [], now: start) == .wait(until: start + .milliseconds(500)))
    }

    @Test("idle connections are given back after ten minutes, the last one after a day")
    func surplus() {
        let growth = PoolGrowth(configuration: APNSClientConfiguration())
        #expect(!growth.isSurplus(lastUse: start, isLast: false, now: start + .seconds(599)))
        #expect(growth.isSurplus(lastUse: start, isLast: false, now: start + .seconds(600)))
        #expect(!growth.isSurplus(lastUse: start, isLast: true, now: start + .seconds(86_399)))
        #expect(growth.isSurplus(lastUse: start, isLast: true, now: start + .seconds(86_400)))
    }
}

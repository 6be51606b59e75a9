@testable import Postgres
import Testing

@Suite("Who gets which connection")
struct PoolMachineTests {
    private typealias Machine = PoolMachine<String, String>

    private let start = ContinuousClock.now

    private func describe(_ grant: Machine.Grant?) -> String {
        switch grant {
        case .connection(let name): name
        case .slot: "slot"
        case .closed: "closed"
        case nil: "wait"
        }
    }

    private func describe(_ returned: Machine.Returned) -> String {
        switch returned {
        case .kept: "kept"
        case .handOver(let waiter): "to \(waiter)"
        case .close: "close"
        }
    }

    @Test("Connections are made up to the maximum, then everybody waits")
    func maximum() {
        var machine = Machine(maximum: 2)
        #expect(describe(machine.requested()) == "slot")
        #expect(describe(machine.requested()) == "slot")
        #expect(describe(machine.requested()) == "wait")
        #expect(machine.slots == 2)
    }

    @Test("The connection that was used last is used next")
    func lastFirst() {
        var machine = Machine(maximum: 3)
        for _ in 0..<2 { _ = machine.requested() }
        #expect(describe(machine.released("a", at: start)) == "kept")
        #expect(describe(machine.released("b", at: start)) == "kept")
        #expect(machine.idleCount == 2)
        #expect(describe(machine.requested()) == "b")
        #expect(describe(machine.requested()) == "a")
        #expect(describe(machine.requested()) == "slot")
    }

    @Test("Those who wait are served in the order of their coming, past those who gave up")
    func order() {
        var machine = Machine(maximum: 1)
        _ = machine.requested()
        for number in 1...3 {
            _ = machine.startedWaiting("w\(number)", number: UInt64(number), until: start + .seconds(number))
        }
        #expect(machine.gaveUp(1) == "w1")
        #expect(machine.gaveUp(1) == nil)
        #expect(describe(machine.released("a", at: start)) == "to w2")
        #expect(machine.gaveUp(2) == nil)
        #expect(machine.slotFreed() == "w3")
        #expect(machine.slotFreed() == nil)
        #expect(machine.slots == 0)
    }

    @Test("One timer is asked for at a time: that of the one who has waited longest")
    func timer() {
        var machine = Machine(maximum: 1)
        _ = machine.requested()
        #expect(machine.startedWaiting("first", number: 1, until: start + .seconds(1)) == start + .seconds(1))
        for number in 2...5 {
            let timer = machine.startedWaiting("w\(number)", number: UInt64(number), until: start + .seconds(number))
            #expect(timer == nil)
        }
        let first = machine.deadlinePassed(at: start + .seconds(1))
        #expect(first.expired == ["first"])
        #expect(first.next == start + .seconds(2))
        #expect(machine.gaveUp(2) == "w2")
        let second = machine.deadlinePassed(at: start + .seconds(2))
        #expect(second.expired.isEmpty)
        #expect(second.next == start + .seconds(3))
        let rest = machine.deadlinePassed(at: start + .seconds(11))
        #expect(rest.expired == ["w3", "w4", "w5"])
        #expect(rest.next == nil)
        #expect(machine.startedWaiting("new", number: 6, until: start + .seconds(20)) == start + .seconds(20))
    }

    @Test("Only what has rested long enough is tried")
    func resting() {
        var machine = Machine(maximum: 2)
        for _ in 0..<2 { _ = machine.requested() }
        _ = machine.released("old", at: start)
        _ = machine.released("new", at: start + .seconds(5))
        #expect(machine.takeIdle(since: start) == "old")
        #expect(machine.takeIdle(since: start) == nil)
        #expect(machine.slots == 2)
    }

    @Test("After the shutdown nothing is lent, and what comes back is closed")
    func shutdown() {
        var machine = Machine(maximum: 2)
        for _ in 0..<2 { _ = machine.requested() }
        _ = machine.startedWaiting("w", number: 1, until: start)
        _ = machine.released("idle", at: start)
        _ = machine.slotFreed()
        var other = Machine(maximum: 2)
        for _ in 0..<2 { _ = other.requested() }
        _ = other.released("idle", at: start)
        let (connections, waiters) = other.shutDown()
        #expect(connections == ["idle"])
        #expect(waiters.isEmpty)
        #expect(describe(other.requested()) == "closed")
        #expect(describe(other.released("lent", at: start)) == "close")
        #expect(other.slots == 0)
    }

    @Test("Those who wait at the shutdown are sent away")
    func shutdownWhileWaiting() {
        var machine = Machine(maximum: 1)
        _ = machine.requested()
        _ = machine.startedWaiting("w1", number: 1, until: start)
        _ = machine.startedWaiting("w2", number: 2, until: start)
        #expect(machine.shutDown().waiters == ["w1", "w2"])
        #expect(machine.slotFreed() == nil)
        #expect(machine.slots == 0)
    }

    @Test("A long queue keeps its order")
    func longQueue() {
        var machine = Machine(maximum: 1)
        _ = machine.requested()
        for number in 1...1000 { _ = machine.startedWaiting("\(number)", number: UInt64(number), until: start) }
        let firstWrong = (1...1000).first { describe(machine.released("c", at: start)) != "to \($0)" }
        #expect(firstWrong == nil)
    }
}

@Suite("Leaving a server alone that is away")
struct ConnectFailuresTests {
    @Test(
        "The pause doubles up to its limit",
        arguments: [(0, 0), (1, 50), (2, 100), (3, 200), (6, 1600), (7, 2000), (60, 2000)]
    )
    func doubling(_ failures: Int, _ milliseconds: Int) {
        for share in [1, 2] {
            var outage = ConnectFailures(longestPause: .seconds(2)) { share == 1 ? 1 : 0 }
            for _ in 0..<failures { outage.failed() }
            #expect(outage.pause == .milliseconds(milliseconds) / share)
        }
    }

    @Test("A success ends it")
    func success() {
        var outage = ConnectFailures(longestPause: .seconds(2))
        outage.failed()
        outage.succeeded()
        #expect(outage.pause == .zero)
    }
}

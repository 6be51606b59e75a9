import Testing

@testable import Intake

@Suite("The pace of groups")
struct GroupPaceTests {
    private static let start = ContinuousClock.now

    private func at(_ milliseconds: Int) -> ContinuousClock.Instant { Self.start + .milliseconds(milliseconds) }

    /// Groups of 100 each tenth of a second, with more behind them.
    private func busy(until end: Int) -> GroupPace {
        var pace = GroupPace()
        for time in stride(from: 0, through: end, by: 100) { pace.finished(100, leavesMore: true, now: at(time)) }
        return pace
    }

    @Test("What is carried out while more waits says how long what comes now will wait")
    func wait() {
        let pace = busy(until: 500)
        #expect(pace.wait(behind: 1_000, now: at(500)) == .seconds(1))
        #expect(pace.wait(behind: 2_500, now: at(600)) == .milliseconds(2_500))
    }

    @Test("Before half a second of it is over, nothing is known")
    func early() {
        #expect(GroupPace().wait(behind: 1_000, now: at(0)) == nil)
        #expect(busy(until: 400).wait(behind: 1_000, now: at(450)) == nil)
    }

    @Test("A group that leaves nothing behind says how much was asked for, not how much could be done")
    func idle() {
        var pace = busy(until: 1_000)
        pace.finished(1, leavesMore: false, now: at(1_100))
        #expect(pace.wait(behind: 1_000, now: at(1_100)) == nil)
        for time in stride(from: 1_200, through: 9_000, by: 100) {
            pace.finished(1, leavesMore: false, now: at(time))
            #expect(pace.wait(behind: 1_000, now: at(time)) == nil)
        }
    }

    @Test("It follows a database that becomes slower, and one that becomes faster")
    func changing() {
        var pace = busy(until: 1_000)
        for time in stride(from: 1_100, through: 2_000, by: 100) { pace.finished(10, leavesMore: true, now: at(time)) }
        #expect(pace.wait(behind: 1_000, now: at(2_000)) == .seconds(10))
        for time in stride(from: 2_100, through: 3_000, by: 100) { pace.finished(400, leavesMore: true, now: at(time)) }
        #expect(pace.wait(behind: 1_000, now: at(3_000)) == .milliseconds(250))
    }

    @Test("Where nothing is carried out any more, what comes waits as long as that lasts, and longer and longer")
    func stalled() {
        let pace = busy(until: 1_000)
        #expect(pace.wait(behind: 1_000, now: at(1_900)) == .seconds(1))
        #expect(pace.wait(behind: 1_000, now: at(2_100)) == .milliseconds(1_100))
        #expect(pace.wait(behind: 1_000, now: at(60_000)) == .seconds(59))
    }
}

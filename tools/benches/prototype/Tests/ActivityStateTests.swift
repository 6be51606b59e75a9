import ActivityModel
import EnginePrototype
import Testing

@Suite("An activity in memory")
struct ActivityStateTests {
    private func change(_ revision: Int64, stamp: Int64 = 100, isEnd: Bool = false) -> Change {
        Change(revision: revision, isEnd: isEnd, stamp: stamp, content: [])
    }

    private func activity(_ devices: Int64...) -> ActivityState {
        ActivityState(
            key: 1,
            partition: 0,
            newest: change(1),
            sent: 1,
            audience: .cards(devices.map { Card(device: $0, token: [1], sent: 1) })
        )
    }

    @Test("A change gets the next revision and a stamp that grows")
    func judging() {
        var state = activity(1)
        #expect(state.judge(at: 50) == .write(revision: 2, stamp: 101))
        #expect(state.judge(at: 50) == .wait)
        state.committed(change(2, stamp: 101))
        #expect(state.judge(at: 200) == .write(revision: 3, stamp: 200))
    }

    @Test("After a missed guard nothing is judged until the state was read again")
    func guardMissed() {
        var state = activity(1)
        _ = state.judge(at: 50)
        state.missed()
        #expect(state.judge(at: 50) == .wait)
        // Another daemon has ended the activity.
        state.refreshed(change(2, isEnd: true))
        #expect(state.judge(at: 50) == .refuseEnded)
    }

    @Test("Changes that arrive late or twice change nothing")
    func lateEntries() {
        var state = activity(1)
        state.learned(change(4, stamp: 104))
        state.learned(change(3, stamp: 103))
        #expect(state.revision == 4)
        #expect(state.stamp == 104)
        #expect(state.beginPass()?.change.revision == 4)
    }

    @Test("One pass at a time, and the next carries the newest revision")
    func passes() {
        var state = activity(1)
        state.learned(change(2))
        #expect(state.beginPass()?.change.revision == 2)
        state.learned(change(3))
        state.learned(change(4))
        #expect(state.beginPass() == nil)
        #expect(state.endPass(through: 2, accepted: 1) == false)
        #expect(state.beginPass()?.change.revision == 4)
        #expect(state.endPass(through: 4, accepted: 1) == false)
        #expect(state.isBehind == false)
        #expect(state.beginPass() == nil)
        #expect(state.unrecorded == 2)
    }

    @Test("A retry goes to those who lack the revision, and never to a dead token")
    func retrying() throws {
        var state = activity(1, 2, 3)
        state.learned(change(2))
        _ = state.beginPass()
        #expect(state.endPass(through: 2, accepted: 1, failed: [2], dead: [3]))
        #expect(state.isBehind)
        #expect(state.beginPass() == nil)
        state.pauseEnded()
        let order = try #require(state.beginPass())
        guard case .cards(let cards) = order.audience else { return #expect(Bool(false), "no cards") }
        #expect(cards.map(\.device) == [2])
    }
}

@Suite("Pages on their way")
struct PageWindowTests {
    @Test("Only answers without a gap are saved")
    func gaps() {
        var window = PageWindow<Int>(limit: 300)
        let numbers = [1, 2, 3].map { window.issue(100, then: $0) }
        #expect(!window.hasRoom)
        window.answer(numbers[1])
        #expect(window.checkpoint(atLeast: 1) == nil)
        window.answer(numbers[0])
        #expect(window.checkpoint(atLeast: 201) == nil)
        #expect(window.checkpoint(atLeast: 200) == 2)
        #expect(window.unsaved == 100)
        #expect(window.hasRoom)
        window.answer(numbers[2])
        #expect(window.checkpoint(atLeast: 1) == 3)
    }
}

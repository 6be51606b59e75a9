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
        let result1 = state.judge(at: 50)
        #expect(result1 == .write(revision: 2, stamp: 101))
        let result2 = state.judge(at: 50)
        #expect(result2 == .wait)
        state.committed(change(2, stamp: 101))
        let result3 = state.judge(at: 200)
        #expect(result3 == .write(revision: 3, stamp: 200))
    }

    @Test("After a missed guard nothing is judged until the state was read again")
    func guardMissed() {
        var state = activity(1)
        _ = state.judge(at: 50)
        state.missed()
        let result1 = state.judge(at: 50)
        #expect(result1 == .wait)
        // Another daemon has ended the activity.
        state.refreshed(change(2, isEnd: true))
        let result2 = state.judge(at: 50)
        #expect(result2 == .refuseEnded)
    }

    @Test("Changes that arrive late or twice change nothing")
    func lateEntries() {
        var state = activity(1)
        state.learned(change(4, stamp: 104))
        state.learned(change(3, stamp: 103))
        #expect(state.revision == 4)
        #expect(state.stamp == 104)
        let result1 = state.beginPass()
        #expect(result1?.change.revision == 4)
    }

    @Test("One pass at a time, and the next carries the newest revision")
    func passes() {
        var state = activity(1)
        state.learned(change(2))
        let result1 = state.beginPass()
        #expect(result1?.change.revision == 2)
        state.learned(change(3))
        state.learned(change(4))
        let result2 = state.beginPass()
        #expect(result2 == nil)
        let result3 = state.endPass(through: 2, accepted: 1)
        #expect(result3 == false)
        let result4 = state.beginPass()
        #expect(result4?.change.revision == 4)
        let result5 = state.endPass(through: 4, accepted: 1)
        #expect(result5 == false)
        #expect(state.isBehind == false)
        let result6 = state.beginPass()
        #expect(result6 == nil)
        #expect(state.unrecorded == 2)
    }

    @Test("A retry goes to those who lack the revision, and never to a dead token")
    func retrying() {
        var state = activity(1, 2, 3)
        state.learned(change(2))
        _ = state.beginPass()
        let result1 = state.endPass(through: 2, accepted: 1, failed: [2], dead: [3])
        #expect(result1)
        #expect(state.isBehind)
        let result2 = state.beginPass()
        #expect(result2 == nil)
        state.pauseEnded()
        let next = state.beginPass()
        guard case .cards(let cards) = next?.audience else {
            Issue.record("no cards")
            return
        }
        #expect(cards.map { $0.device } == [2])
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
        let result1 = window.checkpoint(atLeast: 1)
        #expect(result1 == nil)
        window.answer(numbers[0])
        let result2 = window.checkpoint(atLeast: 201)
        #expect(result2 == nil)
        let result3 = window.checkpoint(atLeast: 200)
        #expect(result3 == 2)
        #expect(window.unsaved == 100)
        #expect(window.hasRoom)
        window.answer(numbers[2])
        let result4 = window.checkpoint(atLeast: 1)
        #expect(result4 == 3)
    }
}

import Testing

@testable import Reactor

@Suite("The timer heap")
struct TimerHeapTests {
    @Test("work comes out by due time, equal ones in the order of scheduling")
    func order() {
        var heap = TimerHeap<Int>()
        let dues: [UInt64] = [50, 10, 30, 10, 20, 50, 0, 30]
        for (index, due) in dues.enumerated() { _ = heap.schedule(at: due, index) }
        var popped: [Int] = []
        while let work = heap.popDue(at: 100) { popped.append(work) }
        #expect(popped == [6, 1, 3, 4, 2, 7, 0, 5])
        #expect(heap.count == 0)
        let due = heap.nextDue()
        #expect(due == nil)
    }

    @Test("nothing comes out before it is due")
    func notBefore() {
        var heap = TimerHeap<Int>()
        _ = heap.schedule(at: 10, 1)
        let early = heap.popDue(at: 9)
        #expect(early == nil)
        let due = heap.nextDue()
        #expect(due == 10)
        let work = heap.popDue(at: 10)
        #expect(work == 1)
    }

    @Test("a sorted list and the heap agree on random schedules and cancellations")
    func againstModel() {
        var generator = Linear(state: 7)
        var heap = TimerHeap<Int>()
        var model: [(due: UInt64, number: Int, id: TimerID)] = []
        for number in 0..<20_000 {
            switch generator.next() % 4 {
            case 0, 1:
                let due = generator.next() % 1000
                model.append((due, number, heap.schedule(at: due, number)))
            case 2 where !model.isEmpty:
                let victim = model.remove(at: Int(generator.next() % UInt64(model.count)))
                let first = heap.cancel(victim.id)
                let second = heap.cancel(victim.id)
                #expect(first && !second)
            default:
                let now = generator.next() % 1000
                let expected = model.indices.min {
                    (model[$0].due, model[$0].number) < (model[$1].due, model[$1].number)
                }
                let popped = heap.popDue(at: now)
                if let expected, model[expected].due <= now {
                    #expect(popped == model.remove(at: expected).number)
                } else {
                    #expect(popped == nil)
                }
            }
            #expect(heap.count == model.count)
        }
    }

    @Test("cancelled entries do not pile up")
    func compaction() {
        var heap = TimerHeap<Int>()
        for number in 0..<100_000 {
            let id = heap.schedule(at: UInt64(1_000_000 - number), number)
            heap.cancel(id)
            #expect(heap.slots <= 65)
        }
    }
}

/// Random numbers that are the same in every run.
struct Linear: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state >> 24
    }
}

/// Identifies one scheduled piece of work; never reused within one loop.
package struct TimerID: Sendable, Hashable {
    let number: UInt64
}

/// Work ordered by due time, with cancellation. It is pure: time is an argument, in nanoseconds of any steady clock.
///
/// It is a binary heap of (due, number). A cancelled entry stays in the heap until it reaches the top, or until
/// cancelled entries are the majority.
struct TimerHeap<Work> {
    private struct Entry {
        let due: UInt64
        let number: UInt64

        func precedes(_ other: Entry) -> Bool {
            // Equal times: in the order of scheduling.
            (due, number) < (other.due, other.number)
        }
    }

    private var entries: [Entry] = []
    private var work: [UInt64: Work] = [:]
    private var lastNumber: UInt64 = 0

    /// The number of pieces of work that are scheduled.
    var count: Int { work.count }

    /// The number of heap slots in use, including cancelled ones.
    var slots: Int { entries.count }

    /// Adds work that is due at `due`.
    mutating func schedule(at due: UInt64, _ item: Work) -> TimerID {
        lastNumber += 1
        work[lastNumber] = item
        entries.append(Entry(due: due, number: lastNumber))
        siftUp(entries.count - 1)
        return TimerID(number: lastNumber)
    }

    /// Cancels the work; true if it was still scheduled.
    @discardableResult
    mutating func cancel(_ id: TimerID) -> Bool {
        guard work.removeValue(forKey: id.number) != nil else { return false }
        if entries.count > 64, entries.count > work.count * 2 { compact() }
        return true
    }

    /// When the earliest work is due.
    mutating func nextDue() -> UInt64? {
        dropCancelled()
        return entries.first?.due
    }

    /// Removes and returns the earliest work that is due at `now`, if any.
    mutating func popDue(at now: UInt64) -> Work? {
        dropCancelled()
        guard let first = entries.first, first.due <= now else { return nil }
        removeFirst()
        return work.removeValue(forKey: first.number)
    }

    /// Cancels everything.
    mutating func removeAll() {
        entries = []
        work = [:]
    }

    private mutating func dropCancelled() {
        while let first = entries.first, work[first.number] == nil { removeFirst() }
    }

    private mutating func compact() {
        entries.removeAll { work[$0.number] == nil }
        for index in stride(from: entries.count / 2 - 1, through: 0, by: -1) { siftDown(index) }
    }

    private mutating func removeFirst() {
        let last = entries.removeLast()
        guard !entries.isEmpty else { return }
        entries[0] = last
        siftDown(0)
    }

    private mutating func siftUp(_ start: Int) {
        var index = start
        while index > 0 {
            let parent = (index - 1) / 2
            guard entries[index].precedes(entries[parent]) else { return }
            entries.swapAt(index, parent)
            index = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var index = start
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < entries.count {
                if entries[child].precedes(entries[least]) { least = child }
            }
            guard least != index else { return }
            entries.swapAt(index, least)
            index = least
        }
    }
}

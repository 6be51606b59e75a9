/// A round-robin queue of the work that has something to send. It belongs to the transport's loop.
struct ReadyQueue {
    private var works: [Work] = []
    private var turn = 0

    var isEmpty: Bool { works.isEmpty }

    /// The number of pushes that may leave.
    var waiting: Int { works.reduce(into: 0) { $0 += $1.ledger.waiting } }

    /// All work, in no particular order.
    var all: [Work] { works }

    /// Adds work, if it has something to send and is not in the queue.
    mutating func add(_ work: Work) {
        guard work.readyPlace == nil, work.ledger.waiting > 0 else {
            return
        }
        work.readyPlace = works.count
        works.append(work)
    }

    /// The next work in turn. Work without anything to send is dropped.
    mutating func next() -> Work? {
        while !works.isEmpty {
            turn = turn < works.count ? turn : 0
            let work = works[turn]
            if work.ledger.waiting > 0 {
                turn += 1
                return work
            }
            remove(work)
        }
        return nil
    }

    /// Removes work, if it is in the queue. The last element moves to its index.
    mutating func remove(_ work: Work) {
        guard let place = work.readyPlace else {
            return
        }
        work.readyPlace = nil
        let last = works.removeLast()
        if last !== work {
            works[place] = last
            last.readyPlace = place
        }
    }
}

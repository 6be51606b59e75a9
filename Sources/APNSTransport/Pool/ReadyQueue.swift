/// The works that have something to send, served in turn. Belongs to the transport's loop.
struct ReadyQueue {
    private var works: [Work] = []
    private var turn = 0

    var isEmpty: Bool { works.isEmpty }

    /// How many pushes may leave.
    var waiting: Int { works.reduce(into: 0) { $0 += $1.ledger.waiting } }

    /// All works, in no particular order.
    var all: [Work] { works }

    /// Takes a work in, if it has something to send and is not here already.
    mutating func add(_ work: Work) {
        guard work.readyPlace == nil, work.ledger.waiting > 0 else {
            return
        }
        work.readyPlace = works.count
        works.append(work)
    }

    /// The work whose turn it is; drops those that have nothing to send.
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

    /// Lets a work go, if it is here; the last one takes its place.
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

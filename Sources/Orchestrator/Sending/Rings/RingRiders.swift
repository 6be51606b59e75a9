import Store

/// What a ring holds, page by page; ``RingDivision`` finds in it where to cut the ring.
struct RingRiders: Sendable {
    private struct Mark: Sendable {
        let key: Int64
        /// Riders up to the key and with it.
        let count: Int
    }

    private var marks: [Mark] = []

    var count: Int { marks.last?.count ?? 0 }

    /// Adds the page behind those that were added before.
    mutating func add(_ page: KeyPages.Page) {
        marks.append(Mark(key: page.through, count: count + page.rows))
    }

    /// The keys behind which new rings begin, if the ring becomes `rings`; all are ends of pages. Fewer where the pages
    /// are too few, none for one ring.
    func cuts(into rings: Int) -> [Int64] {
        guard rings > 1 else { return [] }
        let size = (count + rings - 1) / rings
        var cuts: [Int64] = []
        for mark in marks.dropLast() where mark.count >= (cuts.count + 1) * size && cuts.count < rings - 1 {
            cuts.append(mark.key)
        }
        return cuts
    }
}

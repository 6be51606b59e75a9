import Store

/// The riders of a ring, page by page. ``RingDivision`` finds in them the places to cut the ring.
struct RingRiders: Sendable {
    private struct Mark: Sendable {
        let key: Int64
        /// Riders up to the key and with it.
        let count: Int
    }

    private var marks: [Mark] = []

    var count: Int { marks.last?.count ?? 0 }

    /// Adds the next page.
    mutating func add(_ page: KeyPages.Page) {
        marks.append(Mark(key: page.through, count: count + page.rows))
    }

    /// The keys after which new rings begin if the ring becomes `rings`. All are ends of pages. Fewer if there are too
    /// few pages; empty for one ring.
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

/// The pushes of a large activity that have left and are not saved.
///
/// Answers come in any order. Only a run of answered pages without a gap may be saved, because a crash continues from
/// the saved position.
package struct PageWindow<Position: Sendable>: Sendable {
    private struct Page: Sendable {
        let position: Position
        let count: Int
        var isAnswered = false
    }

    /// The most pushes that may be unsaved at a time.
    package let limit: Int
    private var pages: [Page] = []
    private var first = 0
    private var answered = 0
    /// Pushes that were issued and are not yet returned by ``checkpoint(atLeast:)``.
    package private(set) var unsaved = 0

    package init(limit: Int) {
        self.limit = limit
    }

    package var hasRoom: Bool { unsaved < limit }

    /// Notes a page that is about to leave, and where the walk stands after it.
    package mutating func issue(_ count: Int, then position: Position) -> Int {
        pages.append(Page(position: position, count: count))
        unsaved += count
        return first + pages.count - 1
    }

    package mutating func answer(_ number: Int) {
        pages[number - first].isAnswered = true
    }

    /// The position up to which everything is answered, if that is so many pushes further than the last one.
    package mutating func checkpoint(atLeast count: Int) -> Position? {
        var pushes = 0
        let run = pages.prefix { $0.isAnswered }
        for page in run { pushes += page.count }
        guard let last = run.last, pushes >= count else { return nil }
        pages.removeFirst(run.count)
        first += run.count
        unsaved -= pushes
        return last.position
    }
}

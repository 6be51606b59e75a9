/// The newest events, without a gap from one place to another, so that many readers need one reading of the database.
struct EventWindow {
    private let capacity: Int
    /// Ascending; all of them between ``start`` and ``end``.
    private var events: [EventRecord] = []
    /// What came up to here is not in it any more.
    private(set) var start: EventCursor
    /// What comes after this is not in it yet.
    private(set) var end: EventCursor

    /// An empty window at a place; later it holds at most `capacity` events.
    init(at place: EventCursor, capacity: Int) {
        self.capacity = capacity
        start = place
        end = place
    }

    /// Takes in what follows ``end``, without a filter.
    mutating func append(_ page: EventPage) {
        events += page.events
        end = max(end, page.next)
        // A quarter at a time, so that room is not made again for each event.
        guard events.count > capacity else { return }
        let dropped = events.count - capacity * 3 / 4
        start = events[dropped - 1].cursor
        events.removeFirst(dropped)
    }

    /// What a reader gets who has read up to `cursor`; nil if the window does not reach back so far.
    func page(after cursor: EventCursor, matching filter: EventFilter, limit: Int) -> EventPage? {
        guard cursor >= start else { return nil }
        return filter.page(
            of: events[firstIndex(after: cursor)...],
            limit: limit,
            end: max(end, cursor),
            isLast: true
        )
    }

    private func firstIndex(after cursor: EventCursor) -> Int {
        var (low, high) = (0, events.count)
        while low < high {
            let middle = (low + high) / 2
            if events[middle].cursor > cursor { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

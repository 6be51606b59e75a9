/// Divides waiting work into groups. Several groups may run at a time. Pure: events in, groups out.
///
/// A line keeps its elements in order of arrival and is never in two groups at once. The lines that have waited longest
/// come first, urgent lines before the others. Every fourth line is one of the others, so that they do not starve.
/// While something urgent waits, that line takes a quarter of a group at most.
struct GroupQueue<Line: Hashable, Element> {
    /// How groups are made up.
    struct Rules: Sendable {
        /// The most elements of one group.
        var groupSize: Int
        /// The most groups under way at the same time.
        var lanes: Int
        /// The fewest elements that begin another group while one is under way. A smaller group is cheaper as a part of
        /// the next. If more than that are under way, as many must wait, but no more than twice this number.
        var worthALane: Int
        /// Whether a group may hold several elements of one line, in their order.
        var takesWholeLines: Bool
    }

    /// Elements that are carried out together.
    struct Group {
        let elements: [Element]
        /// The line of each element.
        fileprivate let lines: [Line]

        /// The elements at these ascending places. If one is among them, so are all later ones of its line. Nil if
        /// `places` is empty.
        func part(at places: [Int]) -> Group? {
            guard !places.isEmpty else { return nil }
            return Group(elements: places.map { elements[$0] }, lines: places.map { lines[$0] })
        }
    }

    /// The elements that wait in a line.
    private struct Waiting {
        var elements: [Element] = []
        /// Whether any of it is or was urgent since the line was last empty.
        var isUrgent = false

        /// - Returns: Whether the line has its place already, among the urgent ones if the element is urgent.
        mutating func add(_ element: Element, isUrgent: Bool) -> Bool {
            let hasPlace = !elements.isEmpty && (self.isUrgent || !isUrgent)
            elements.append(element)
            if isUrgent { self.isUrgent = true }
            return hasPlace
        }
    }

    private let rules: Rules
    private var waiting: [Line: Waiting] = [:]
    /// Lines that have elements and are in no group, in the order in which they became ready. A line that becomes
    /// urgent is in both queues; the queues skip entries that no longer hold.
    private var urgent = FirstInFirstOut<Line>()
    private var others = FirstInFirstOut<Line>()
    /// How many elements are in those lines.
    private var readyCount = 0
    /// How many lines have been taken in all.
    private var taken = 0
    private var busy: Set<Line> = []
    private var underWay = 0
    /// How many of those groups are carried out but for a part that waits in their lanes.
    private var stalledGroups = 0
    /// How many elements the others of those groups have.
    private var elementsUnderWay = 0
    /// How many elements wait.
    private(set) var count = 0

    init(_ rules: Rules) {
        self.rules = rules
    }

    /// - `isUrgent`: whether it goes before what is not, with all that waits before it in its line.
    mutating func add(_ element: Element, to line: Line, isUrgent: Bool = false) {
        count += 1
        let isQueued = waiting[line, default: Waiting()].add(element, isUrgent: isUrgent)
        guard !busy.contains(line) else { return }
        readyCount += 1
        if !isQueued { queue(line, isUrgent: isUrgent) }
    }

    /// Whether a group may be begun.
    var hasNext: Bool { underWay < rules.lanes && readyCount >= leastToBegin }

    /// A group costs as much as several elements. So those of many callers should not be many small ones. While something
    /// urgent waits, a smaller group may begin than otherwise. It waits for the groups under way at most: then a group begins
    /// with whatever is ready. Nothing waits for a stalled group, because nobody knows how long that takes.
    private var leastToBegin: Int {
        if underWay == stalledGroups { return 1 }
        return !urgent.isEmpty ? rules.worthALane : min(max(elementsUnderWay, rules.worthALane), 2 * rules.worthALane)
    }

    /// Whether there is enough for another group, which may not begin because all lanes are busy.
    var leavesMore: Bool { underWay == rules.lanes && readyCount >= rules.worthALane }

    /// Whether what comes now would wait for more than one group.
    var isLong: Bool { count >= rules.groupSize }

    /// The next group, if one may be begun. It is under way until it is given to ``finished(_:)``.
    mutating func next() -> Group? {
        guard hasNext else { return nil }
        var lines: [Line] = []
        var elements: [Element] = []
        while elements.count < rules.groupSize, let line = nextLine() {
            let share = urgent.isEmpty || waiting[line]?.isUrgent == true ? rules.groupSize : rules.groupSize / 4
            let room = min(max(share, 1), rules.groupSize - elements.count)
            take(from: line, atMost: rules.takesWholeLines ? room : 1, into: &elements)
            lines.append(contentsOf: repeatElement(line, count: elements.count - lines.count))
        }
        count -= elements.count
        underWay += 1
        elementsUnderWay += elements.count
        return Group(elements: elements, lines: lines)
    }

    /// Notes that a group was carried out, so that the next elements of its lines may follow. The lines of `part` stay
    /// busy: it was not carried out, and ``caughtUp(_:)`` frees them later.
    mutating func finished(_ group: Group, but part: Group? = nil) {
        underWay -= 1
        elementsUnderWay -= group.elements.count
        free(group.lines, but: Set(part?.lines ?? []))
    }

    /// The rest of a group that has ``finished(_:but:)`` was carried out, outside the lanes.
    mutating func caughtUp(_ part: Group) { free(part.lines, but: []) }

    /// Notes that a group was carried out but for `part`, which waits in the lane of the group. The other lines are free.
    /// ``caughtUpInLane(_:)`` frees the lane and the rest later.
    mutating func stalled(_ group: Group, at part: Group) {
        finished(group, but: part)
        underWay += 1
        stalledGroups += 1
    }

    /// The rest of a group that was ``stalled(_:at:)`` was carried out.
    mutating func caughtUpInLane(_ part: Group) {
        underWay -= 1
        stalledGroups -= 1
        free(part.lines, but: [])
    }

    private mutating func free(_ lines: [Line], but others: Set<Line>) {
        for line in lines where !others.contains(line) && busy.contains(line) {
            busy.remove(line)
            guard let rest = waiting[line] else { continue }
            readyCount += rest.elements.count
            queue(line, isUrgent: rest.isUrgent)
        }
    }

    private mutating func queue(_ line: Line, isUrgent: Bool) {
        if isUrgent { urgent.append(line) } else { others.append(line) }
    }

    private mutating func nextLine() -> Line? {
        taken += 1
        return taken.isMultiple(of: 4) ? nextOther() ?? nextUrgent() : nextUrgent() ?? nextOther()
    }

    private mutating func nextUrgent() -> Line? {
        urgent.popFirst { [waiting, busy] in waiting[$0]?.isUrgent == true && !busy.contains($0) }
    }

    private mutating func nextOther() -> Line? {
        others.popFirst { [waiting, busy] in waiting[$0] != nil && !busy.contains($0) }
    }

    private mutating func take(from line: Line, atMost limit: Int, into elements: inout [Element]) {
        guard var all = waiting.removeValue(forKey: line) else { return }
        readyCount -= all.elements.count
        elements += all.elements.prefix(limit)
        if all.elements.count > limit {
            all.elements.removeFirst(limit)
            waiting[line] = all
        }
        busy.insert(line)
    }
}

/// A first-in, first-out queue.
private struct FirstInFirstOut<Element> {
    private var elements: [Element] = []
    private var start = 0

    var isEmpty: Bool { elements.isEmpty }

    mutating func append(_ element: Element) { elements.append(element) }

    /// The first element for which `isWanted` is true; drops the elements before it.
    mutating func popFirst(where isWanted: (Element) -> Bool) -> Element? {
        while start < elements.count {
            let element = elements[start]
            start += 1
            if start == elements.count || start > 1024 {
                elements.removeFirst(start)
                start = 0
            }
            if isWanted(element) { return element }
        }
        return nil
    }
}

extension GroupQueue.Group: Sendable where Line: Sendable, Element: Sendable {}

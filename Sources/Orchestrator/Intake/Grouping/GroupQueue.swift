/// What waits to be carried out in groups, several of which may be under way at a time. Pure: events in, groups out.
///
/// Elements of one line are carried out in the order of their coming and never in two groups at once. The lines that
/// have waited longest come first.
struct GroupQueue<Line: Hashable, Element> {
    /// How groups are made up.
    struct Rules: Sendable {
        /// The most elements of one group.
        var groupSize: Int
        /// The most groups under way at the same time.
        var lanes: Int
        /// While a group is under way, another is begun for so many elements at least: a small one is cheaper as a part
        /// of the next.
        var worthALane: Int
        /// Whether a group may hold several elements of one line, in their order.
        var takesWholeLines: Bool
    }

    /// Elements that are carried out together.
    struct Group {
        let elements: [Element]
        fileprivate let lines: [Line]
    }

    private let rules: Rules
    private var waiting: [Line: [Element]] = [:]
    /// Lines that have elements and are in no group, in the order in which they came to be so.
    private var ready: [Line] = []
    private var readyStart = 0
    private var readyCount = 0
    private var busy: Set<Line> = []
    private var underWay = 0
    /// How many elements wait.
    private(set) var count = 0

    init(_ rules: Rules) {
        self.rules = rules
    }

    mutating func add(_ element: Element, to line: Line) {
        count += 1
        waiting[line, default: []].append(element)
        guard !busy.contains(line) else { return }
        readyCount += 1
        if waiting[line]?.count == 1 { ready.append(line) }
    }

    /// Whether a group may be begun.
    var hasNext: Bool { underWay < rules.lanes && readyCount >= (underWay == 0 ? 1 : rules.worthALane) }

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
            lines.append(line)
            take(from: line, atMost: rules.takesWholeLines ? rules.groupSize - elements.count : 1, into: &elements)
        }
        count -= elements.count
        underWay += 1
        return Group(elements: elements, lines: lines)
    }

    /// A group has been carried out; what waits behind it in its lines may go on.
    mutating func finished(_ group: Group) {
        underWay -= 1
        for line in group.lines {
            busy.remove(line)
            guard let rest = waiting[line] else { continue }
            readyCount += rest.count
            ready.append(line)
        }
    }

    private mutating func nextLine() -> Line? {
        guard readyStart < ready.count else { return nil }
        defer {
            readyStart += 1
            if readyStart == ready.count || readyStart > 1024 {
                ready.removeFirst(readyStart)
                readyStart = 0
            }
        }
        return ready[readyStart]
    }

    private mutating func take(from line: Line, atMost limit: Int, into elements: inout [Element]) {
        let all = waiting.removeValue(forKey: line) ?? []
        readyCount -= all.count
        elements += all.prefix(limit)
        if all.count > limit { waiting[line] = Array(all.dropFirst(limit)) }
        busy.insert(line)
    }
}

extension GroupQueue.Group: Sendable where Line: Sendable, Element: Sendable {}

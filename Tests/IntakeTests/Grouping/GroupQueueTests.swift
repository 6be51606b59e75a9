import TestSupport
import Testing

@testable import Intake

@Suite("Groups of what waits")
struct GroupQueueTests {
    typealias Queue = GroupQueue<String, Int>

    private func queue(
        _ size: Int = 10,
        lanes: Int = 2,
        worthALane: Int = 1,
        takesWholeLines: Bool = true
    ) -> Queue {
        Queue(.init(groupSize: size, lanes: lanes, worthALane: worthALane, takesWholeLines: takesWholeLines))
    }

    /// The elements of the next group; nil if none may be begun.
    private func begin(_ queue: inout Queue, _ open: inout [Queue.Group]) -> [Int]? {
        let isDue = queue.hasNext
        let group = queue.next()
        #expect(isDue == (group != nil))
        guard let group else { return nil }
        open.append(group)
        return group.elements
    }

    private func add(_ elements: [(line: String, number: Int)], to queue: inout Queue) {
        for (line, number) in elements { queue.add(number, to: line) }
    }

    @Test("What has come makes up a group, whole lines in their order; what comes meanwhile makes up the next")
    func wholeLines() {
        var queue = queue()
        var open: [Queue.Group] = []
        add([("a", 1), ("b", 2), ("a", 3)], to: &queue)
        #expect(begin(&queue, &open) == [1, 3, 2])
        #expect(begin(&queue, &open) == nil)
        queue.add(4, to: "a")
        #expect(begin(&queue, &open) == nil, "The line is in a group that is under way.")
        add([("c", 5), ("d", 6)], to: &queue)
        #expect(begin(&queue, &open) == [5, 6], "Other lines need not wait for it.")
        queue.finished(open[0])
        queue.finished(open[1])
        #expect(begin(&queue, &open) == [4])
        #expect(queue.count == 0)
    }

    @Test(
        "It leaves more behind when enough for another group waits and no lane is free, and is long beyond a whole group"
    )
    func leavesMore() {
        var queue = queue(4, lanes: 2, worthALane: 2)
        var open: [Queue.Group] = []
        var told: [Bool] = []
        for number in 1...3 {
            add([("a\(number)", number), ("b\(number)", number)], to: &queue)
            told.append(queue.leavesMore)
            _ = begin(&queue, &open)
        }
        #expect(told == [false, false, true], "Two lanes took what was there before.")
        #expect(!queue.isLong)
        queue.add(4, to: "a1")
        queue.add(4, to: "a2")
        #expect(queue.isLong, "Behind four one waits for more than the next group.")
        queue.finished(open[0])
        #expect(!queue.leavesMore, "A lane is free.")
    }

    @Test("A queue that takes one of each line leaves the others for the next groups")
    func oneOfEach() {
        var queue = queue(takesWholeLines: false)
        var open: [Queue.Group] = []
        add([("a", 1), ("a", 2), ("b", 3)], to: &queue)
        #expect(begin(&queue, &open) == [1, 3])
        queue.finished(open[0])
        #expect(begin(&queue, &open) == [2])
    }

    @Test("A group has its size, and a further lane is opened for enough elements only")
    func limits() {
        var queue = queue(2, lanes: 2, worthALane: 2)
        var open: [Queue.Group] = []
        add((1...5).map { ("\($0)", $0) }, to: &queue)
        #expect(begin(&queue, &open) == [1, 2])
        #expect(begin(&queue, &open) == [3, 4])
        #expect(begin(&queue, &open) == nil, "There are two lanes.")
        queue.finished(open[0])
        #expect(begin(&queue, &open) == nil, "One element is not worth a second lane.")
        queue.finished(open[1])
        #expect(begin(&queue, &open) == [5])
    }

    @Test("Another group begins when as many wait as are under way, from its least number to twice that")
    func worthALane() {
        var queue = queue(100, lanes: 4, worthALane: 4)
        var open: [Queue.Group] = []
        var last = 0
        /// Adds elements, each in a line of its own.
        func wait(_ count: Int) {
            add((last + 1...last + count).map { ("\($0)", $0) }, to: &queue)
            last += count
        }
        wait(1)
        #expect(begin(&queue, &open)?.count == 1, "Nothing is under way.")
        wait(3)
        #expect(begin(&queue, &open) == nil, "They are not worth a lane.")
        wait(1)
        #expect(begin(&queue, &open)?.count == 4)
        wait(4)
        #expect(begin(&queue, &open) == nil, "Five are under way.")
        wait(1)
        #expect(begin(&queue, &open)?.count == 5)
        wait(7)
        #expect(begin(&queue, &open) == nil, "Ten are under way, and twice the least number is eight.")
        wait(1)
        #expect(begin(&queue, &open)?.count == 8)
        for group in open { queue.finished(group) }
        wait(1)
        #expect(begin(&queue, &open)?.count == 1, "All are done.")
    }

    @Test("What is urgent goes first, with what stands before it in its line; of four lines one is of the others")
    func urgent() {
        var queue = queue(5, lanes: 1)
        var open: [Queue.Group] = []
        add((1...4).map { ("a\($0)", $0) }, to: &queue)
        queue.add(5, to: "a4", isUrgent: true)
        for number in 6...9 { queue.add(number, to: "b\(number)", isUrgent: true) }
        #expect(begin(&queue, &open) == [4, 5, 6, 7, 1])
        queue.add(10, to: "a4")
        queue.add(11, to: "a4", isUrgent: true)
        queue.add(12, to: "a4")
        queue.finished(open[0])
        #expect(begin(&queue, &open) == [8, 9, 10, 11, 12], "A line that has been in a group is urgent anew.")
        queue.finished(open[1])
        #expect(begin(&queue, &open) == [2, 3])
        #expect(queue.count == 0)
    }

    @Test("As long as something urgent waits, a long line that has nothing urgent takes a quarter of a group")
    func longLine() {
        var queue = queue(8, lanes: 1)
        var open: [Queue.Group] = []
        for number in 1...8 { queue.add(number, to: "long") }
        for number in 11...18 { queue.add(number, to: "u\(number)", isUrgent: true) }
        #expect(begin(&queue, &open) == [11, 12, 13, 1, 2, 14, 15, 16])
        queue.finished(open[0])
        #expect(begin(&queue, &open) == [3, 4, 17, 18], "The long line is in this group already.")
        queue.finished(open[1])
        #expect(begin(&queue, &open) == [5, 6, 7, 8])
    }

    @Test("A line that was urgent and has been emptied is like any other")
    func urgentNoMore() {
        var queue = queue(1, lanes: 1)
        var open: [Queue.Group] = []
        for number in 1...3 { queue.add(number, to: "u\(number)", isUrgent: true) }
        queue.add(4, to: "a")
        queue.add(5, to: "a", isUrgent: true)
        // The fourth is taken as one of the others.
        for number in 0...3 {
            #expect(begin(&queue, &open)?.first == number + 1)
            queue.finished(open[number])
        }
        #expect(begin(&queue, &open) == [5])
        queue.finished(open[4])
        add([("b", 6), ("a", 7)], to: &queue)
        #expect(begin(&queue, &open) == [6])
    }

    @Test("A group of which a part waits keeps its lane and the lines of this part, and holds up nothing else")
    func stalled() throws {
        var queue = queue(4, lanes: 2, worthALane: 3)
        var open: [Queue.Group] = []
        add([("a", 1), ("b", 2)], to: &queue)
        #expect(begin(&queue, &open) == [1, 2])
        add([("a", 3), ("b", 4)], to: &queue)
        #expect(begin(&queue, &open) == nil)
        let part = try #require(open[0].part(at: [0]))
        queue.stalled(open[0], at: part)
        #expect(begin(&queue, &open) == [4], "One is enough: who knows how long the part waits.")
        add([("c", 5), ("d", 6), ("e", 7)], to: &queue)
        #expect(begin(&queue, &open) == nil, "No lane is free.")
        queue.caughtUpInLane(part)
        #expect(begin(&queue, &open) == [5, 6, 7, 3])
        queue.finished(open[1])
        queue.finished(open[2])
        queue.add(8, to: "b")
        #expect(begin(&queue, &open) == [8])
        #expect(queue.count == 0)
    }

    @Test("Nothing is lost, no line overtakes itself or is in two groups, whatever happens", arguments: 1...20)
    func random(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        let lanes = Int.random(in: 1...4, using: &random)
        let wholeLines = Bool.random(using: &random)
        var queue = GroupQueue<Int, (line: Int, number: Int)>(
            .init(
                groupSize: Int.random(in: 1...6, using: &random),
                lanes: lanes,
                worthALane: Int.random(in: 1...3, using: &random),
                takesWholeLines: wholeLines
            )
        )
        var groups: [GroupQueue<Int, (line: Int, number: Int)>.Group] = []
        var next: [Int: Int] = [:]
        var added: [Int: Int] = [:]
        func begin() throws {
            guard let group = queue.next() else { return }
            let open = Set(groups.flatMap { $0.elements.map(\.line) })
            #expect(open.isDisjoint(with: group.elements.map(\.line)))
            if !wholeLines { #expect(Set(group.elements.map(\.line)).count == group.elements.count) }
            for (line, number) in group.elements {
                #expect(number == next[line, default: 0])
                next[line] = number + 1
            }
            groups.append(group)
            #expect(groups.count <= lanes)
        }
        for _ in 0..<2_000 {
            switch Int.random(in: 0...2, using: &random) {
            case 0:
                let line = Int.random(in: 0...8, using: &random)
                queue.add((line, added[line, default: 0]), to: line, isUrgent: Bool.random(using: &random))
                added[line, default: 0] += 1
            case 1: try begin()
            default:
                guard let index = groups.indices.randomElement(using: &random) else { continue }
                queue.finished(groups.remove(at: index))
            }
        }
        while queue.count > 0 || !groups.isEmpty {
            try begin()
            if let group = groups.popLast() { queue.finished(group) }
        }
        #expect(next == added)
    }
}

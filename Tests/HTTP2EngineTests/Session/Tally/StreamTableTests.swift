import Testing

@testable import HTTP2Engine

@Suite("The streams of our own session, by their numbers")
struct StreamTableTests {
    @Test(
        "streams that share a place are all found, whichever ends first",
        arguments: [[0, 1, 2], [2, 0, 1], [1, 2, 0]]
    )
    func collisions(order: [Int]) {
        var table = StreamTable()
        let streams = (0..<3).map { Int32(7 + 2 * StreamTable.size * $0) }
        for (slot, stream) in streams.enumerated() { table.insert(stream, slot: slot) }
        var open = Set(streams)
        for index in order {
            for (slot, stream) in streams.enumerated() {
                #expect(table.slot(stream) == (open.contains(stream) ? slot : nil))
            }
            table.remove(streams[index])
            open.remove(streams[index])
        }
        #expect(streams.allSatisfy { table.slot($0) == nil })
    }

    @Test("a number that was never inserted is not found", arguments: [0, 1, 2, 4096, .max] as [Int32])
    func unknown(stream: Int32) {
        var table = StreamTable()
        table.insert(9, slot: 0)
        #expect(table.slot(stream) == nil)
    }

    @Test("a queue keeps its order and does not grow with what has passed")
    func fifo() {
        var queue = Fifo<Int>()
        var next = 0
        for number in 0..<10_000 {
            queue.append(2 * number)
            queue.append(2 * number + 1)
            #expect(queue.first == next)
            queue.removeFirst()
            next += 1
        }
        #expect(queue.count == 10_000)
        queue.removeAll()
        #expect(queue.isEmpty && queue.first == nil)
    }
}

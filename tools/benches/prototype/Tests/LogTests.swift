import EnginePrototype
import Testing

@Suite("Reading the log")
struct LogTests {
    private func entry(_ transaction: UInt64, _ activity: Int64 = 1, _ revision: Int64 = 2) -> LogTail.Entry {
        LogTail.Entry(transaction: transaction, activity: activity, revision: revision)
    }

    @Test("A row that becomes visible after younger ones is returned, once")
    func outOfOrder() {
        var tail = LogTail(from: 10)
        // Transaction 11 is still open.
        let result1 = tail.read([entry(12, 1)], oldestOpen: 11, asked: [0], owned: [0])
        #expect(result1 == [entry(12, 1)])
        #expect(tail.low == 11)
        // It has committed.
        let both = [entry(11, 2), entry(12, 1)]
        let result2 = tail.read(both, oldestOpen: 13, asked: [0], owned: [0])
        #expect(result2 == [entry(11, 2)])
        let result3 = tail.read([], oldestOpen: 13, asked: [0], owned: [0])
        #expect(result3.isEmpty)
        #expect(tail.low == 13)
    }

    @Test("A look that did not ask for a new partition does not move the tail")
    func partitionTakenMeanwhile() {
        var tail = LogTail(from: 10)
        let result1 = tail.read([entry(12)], oldestOpen: 15, asked: [0], owned: [0, 1])
        #expect(result1.isEmpty)
        #expect(tail.low == 10)
        let result2 = tail.read([entry(12)], oldestOpen: 15, asked: [0, 1], owned: [0, 1])
        #expect(result2 == [entry(12)])
    }
}

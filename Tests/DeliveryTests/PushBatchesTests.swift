import ActivityModel
import Testing

@testable import Delivery

@Suite("The batches of a push queue")
struct PushBatchesTests {
    private let one = BundleID(stored: "com.example.one")
    private let two = BundleID(stored: "com.example.two")

    private func batch(_ counts: [BundleID: Int]) -> [BundleID] {
        counts.flatMap { Array(repeating: $0.key, count: $0.value) }
    }

    @Test("Four work at a time; one that only waits gives its place to another")
    func places() {
        var batches = PushBatches()
        let numbers = (1...4).map { _ in batches.begin([one]) }
        #expect(batches.areFull)
        batches.isLate(numbers[0])
        #expect(!batches.areFull)
        _ = batches.begin([one])
        #expect(batches.areFull)
        batches.end(numbers[0])
        #expect(batches.areFull)
        batches.end(numbers[1])
        #expect(!batches.areFull)
    }

    @Test("Those that wait are bounded, too")
    func bound() {
        var batches = PushBatches()
        var numbers: [Int] = []
        while !batches.areFull {
            numbers.append(batches.begin([one]))
            batches.isLate(numbers[numbers.count - 1])
        }
        #expect(numbers.count == PushBatches.most)
        batches.end(numbers[7])
        #expect(!batches.areFull)
    }

    @Test("An app is silent while so many of its pushes are in batches that only wait, and another app is not")
    func silence() {
        var batches = PushBatches()
        let first = batches.begin(batch([one: PushBatches.mostOfApp - 1, two: 20]))
        let second = batches.begin(batch([one: 1]))
        batches.isLate(first)
        #expect(batches.silentApps == [])
        batches.isLate(second)
        #expect(batches.silentApps == [one])
        batches.end(second)
        #expect(batches.silentApps == [])
        // It has ended already.
        batches.isLate(second)
        #expect(batches.silentApps == [])
    }

    @Test("What is held up is looked for again when a batch comes on")
    func wakeUps() async {
        let lane = PushLane()
        var looks = lane.looks.makeAsyncIterator()
        let numbers = (1...PushBatches.mostAtWork).map { _ in lane.begin(batch([one: 100])) }
        #expect(lane.isFull)
        for number in numbers {
            lane.isLate(number)
            #expect(!lane.isFull)
            #expect(lane.silentApps == (number == numbers.last ? [one] : []))
            if number == numbers.first { _ = await looks.next() }
        }
        lane.end(numbers[0])
        _ = await looks.next()
        #expect(lane.silentApps == [])
    }
}

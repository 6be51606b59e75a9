import Testing

@testable import APNSTransport

@Suite("The ledger of a batch")
struct BatchLedgerTests {
    private func flight(_ tick: UInt8 = 0, connection: UInt16 = 1) -> BatchLedger.Flight {
        BatchLedger.Flight(stream: nil, connection: connection, tick: tick)
    }

    @Test("pushes are taken in order, and those put back come again first")
    func order() {
        var ledger = BatchLedger(count: 3)
        #expect(ledger.take() == 0)
        #expect(ledger.take() == 1)
        #expect(ledger.waiting == 1)
        ledger.sent(0, flight())
        #expect(ledger.putBack(0) == true)
        ledger.putBack(1)
        #expect(ledger.waiting == 3)
        #expect(ledger.aloft == 0)
        #expect(Set([ledger.take(), ledger.take(), ledger.take()]) == [0, 1, 2])
        #expect(ledger.take() == nil)
    }

    @Test("a push is settled once; later answers change nothing")
    func once() throws {
        var ledger = BatchLedger(count: 2)
        let taken = ledger.take()
        let first = try #require(taken)
        ledger.sent(first, flight())
        #expect(ledger.accept(first) == true)
        #expect(ledger.accept(first) == false)
        #expect(ledger.settle(first, PushOutcome(.unknown)) == false)
        #expect(ledger.putBack(first) == false)
        #expect(ledger.flight(first) == nil)
        #expect(ledger.accepted == 1)
        #expect(ledger.exceptions.isEmpty)
        #expect(!ledger.isComplete)
        ledger.settleWaiting(PushOutcome(.notSent))
        #expect(ledger.isComplete)
        #expect(ledger.exceptions == [.init(index: 1, outcome: PushOutcome(.notSent))])
    }

    @Test("only pushes that left so many ticks ago are overdue, also across the wrap of the tick counter")
    func overdue() {
        var ledger = BatchLedger(count: 4)
        for tick in [UInt8(250), 254, 1] {
            if let index = ledger.take() { ledger.sent(index, flight(tick, connection: UInt16(tick) + 1)) }
        }
        #expect(ledger.settleAloft(at: 1, age: 8, PushOutcome(.unknown)).isEmpty)
        #expect(ledger.settleAloft(at: 2, age: 8, PushOutcome(.unknown)).map(\.connection) == [251])
        #expect(ledger.settleAloft(at: 6, age: 8, PushOutcome(.unknown)).map(\.connection) == [255])
        #expect(ledger.aloft == 1)
        #expect(ledger.settleAloft(at: 6, age: 0, PushOutcome(.unknown)).count == 1)
        #expect(ledger.waiting == 1)
        #expect(!ledger.isComplete)
    }

    @Test("pushes that were taken and can never leave are settled with those that wait, and nothing in flight")
    func unsendable() {
        var ledger = BatchLedger(count: 5)
        if let index = ledger.take() { ledger.sent(index, flight()) }
        if let index = ledger.take() { ledger.sent(index, flight()) }
        ledger.putBack(1)
        #expect(ledger.take() == 1)
        #expect(ledger.take() == 2)
        ledger.settleTaken(PushOutcome(.requestInvalid))
        #expect(ledger.exceptions.map(\.index).sorted() == [1, 2, 3, 4])
        #expect(ledger.aloft == 1)
        ledger.accept(0)
        #expect(ledger.isComplete)
    }

    @Test("every push ends in exactly one place under any order of events", arguments: 0..<50)
    func anyOrder(seed: Int) {
        var generator = SplitMix(state: UInt64(seed))
        var ledger = BatchLedger(count: 200)
        var aloft: [Int] = []
        var tick: UInt8 = 200
        while !ledger.isComplete {
            switch Int.random(in: 0..<8, using: &generator) {
            case 0...2:
                if let index = ledger.take() {
                    ledger.sent(index, flight(tick))
                    aloft.append(index)
                }
            case 3, 4:
                if let index = aloft.randomElement(using: &generator) { ledger.accept(index) }
            case 5:
                if let index = aloft.randomElement(using: &generator) {
                    ledger.settle(index, PushOutcome(.tokenRejected))
                }
            case 6:
                if let index = aloft.randomElement(using: &generator) { ledger.putBack(index) }
            default:
                tick &+= 1
                _ = ledger.settleAloft(at: tick, age: 12, PushOutcome(.unknown))
            }
            // Answers come only to what is in flight, as the pool sees to it.
            aloft.removeAll { ledger.flight($0) == nil }
        }
        #expect(ledger.aloft == 0)
        #expect(ledger.waiting == 0)
        #expect(ledger.accepted + ledger.exceptions.count == 200)
        #expect(Set(ledger.exceptions.map(\.index)).count == ledger.exceptions.count)
    }
}

/// A small generator of the same numbers in every run.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

import APNSTransport
import ActivityModel
import OrchestratorTestSupport
import TestSupport
import Testing
import Waiting

@testable import Cards
@testable import Delivery
@testable import DeliveryStore
@testable import Store

@Suite("What a walk has sent and not stored")
struct RingWindowTests {
    private static let nothing = PushExceptions(activityKey: 1, backoff: Backoff())

    private func answers(_ accepted: Int, refused: Int = 0, _ outcome: PushOutcome = .unavailable) -> PushExceptions {
        var exceptions = Self.nothing
        exceptions.add(
            BatchOutcome(
                accepted: accepted,
                exceptions: (0..<refused).map { BatchOutcome.Exception(index: $0, outcome: outcome) }
            )
        ) { index in
            PushToken(bytes: [1]).map {
                PushExceptions.Recipient(deviceKey: Int64(index), token: $0, failures: 0, heardIfRefused: 0)
            }
        }
        return exceptions
    }

    @Test("Only what has no gap before it is stored, one part at a time")
    func order() {
        var window = RingWindow(nothing: Self.nothing)
        let numbers = (1...4).map { window.handOut(count: 10, lastKey: Int64($0 * 100)) }
        window.answered(numbers[1], answers(10))
        window.answered(numbers[2], answers(9, refused: 1))
        #expect(window.takePart(ofAtLeast: 10) == nil)
        window.answered(numbers[0], answers(10))
        #expect(window.takePart(ofAtLeast: 31) == nil)
        let part = window.takePart(ofAtLeast: 30)
        #expect(part?.lastKey == 300)
        #expect(part?.count == 30)
        #expect(part?.exceptions.refused.count == 1)
        window.answered(numbers[3], answers(10))
        #expect(window.takePart(ofAtLeast: 1) == nil)
        #expect(window.open == 40)
        window.partStored()
        #expect(window.open == 10)
        #expect(window.rest.lastKey == 400)
        #expect(window.takePart(ofAtLeast: 1)?.lastKey == 400)
    }

    @Test("A part of which nobody was reached is not stored, nor is what comes after it")
    func stuck() {
        var window = RingWindow(nothing: Self.nothing)
        let numbers = (1...3).map { window.handOut(count: 10, lastKey: Int64($0 * 100)) }
        window.answered(numbers[0], answers(0, refused: 10))
        #expect(window.takePart(ofAtLeast: 5) == nil)
        #expect(window.isStuck)
        window.answered(numbers[1], answers(0, refused: 10))
        window.answered(numbers[2], answers(0, refused: 10))
        #expect(window.takePart(ofAtLeast: 5) == nil)
        #expect(window.rest.exceptions.commonFailure != nil)
        #expect(window.rest.count == 30)
    }

    @Test("Whatever the order of the answers, each destination is stored once, in the order of the ring")
    func anyOrder() {
        for seed in 1...200 {
            var random = SeededRandom(seed: UInt64(seed))
            var window = RingWindow(nothing: Self.nothing)
            var (open, stored, sent) = ([Int](), [Int64](), 0)
            var isStoring = false
            while stored.last != 60 {
                switch Int.random(in: 0..<4, using: &random) {
                case 0 where sent < 60:
                    sent += 1
                    open.append(window.handOut(count: 5, lastKey: Int64(sent)))
                case 1:
                    guard let place = open.indices.randomElement(using: &random) else { continue }
                    window.answered(open.remove(at: place), answers(5))
                case 2 where !isStoring:
                    guard let part = window.takePart(ofAtLeast: sent < 60 ? 20 : 1) else { continue }
                    #expect((part.lastKey ?? 0) - (stored.last ?? 0) == Int64(part.count / 5))
                    stored.append(part.lastKey ?? 0)
                    isStoring = true
                case 3 where isStoring:
                    window.partStored()
                    isStoring = false
                default: continue
                }
                #expect(window.begun == sent * 5)
            }
            if isStoring { window.partStored() }
            #expect(window.open == 0)
        }
    }
}

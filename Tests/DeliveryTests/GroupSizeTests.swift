import Testing

@testable import Delivery

@Suite("How many segments a worker is given at once")
struct GroupSizeTests {
    private static let small = SegmentGroup.Outcome(mayHaveMore: true)
    private static let other = SegmentGroup.Outcome(hadOther: true, mayHaveMore: true)
    private static let tooMuch = SegmentGroup.Outcome(hadOther: true, hadTooMuch: true, mayHaveMore: true)

    @Test(
        "Twice as many after each group of small rings, up to 64, and one after a group of which some were given back"
    )
    func learning() {
        let size = GroupSize()
        #expect(size.current == 1)
        for expected in [2, 4, 8, 16, 32, 64, 64] {
            size.learn(from: Self.small)
            #expect(size.current == expected)
        }
        size.learn(from: Self.tooMuch)
        #expect(size.current == 1)
    }

    @Test(
        "What took a worker of its own makes it neither more nor less: of large rings alone none is leased to be given back"
    )
    func largeRings() {
        let size = GroupSize()
        for _ in 1...10 { size.learn(from: Self.other) }
        #expect(size.current == 1)
        size.learn(from: Self.small)
        size.learn(from: Self.other)
        #expect(size.current == 2)
    }
}

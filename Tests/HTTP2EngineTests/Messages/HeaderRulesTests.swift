import Testing

@testable import HTTP2Engine

@Suite("What may stand in a path")
struct HeaderRulesTests {
    @Test("each byte is judged alike at every place of a run, whatever its length")
    func visibility() {
        for length in [1, 7, 8, 9, 16, 23] {
            for place in 0..<length {
                for byte in UInt8.min...UInt8.max {
                    // Neighbours at both ends of what is allowed, where a borrow or a carry would come from.
                    for neighbour in [UInt8(0x21), 0x7e] {
                        var bytes = [UInt8](repeating: neighbour, count: length)
                        bytes[place] = byte
                        let isVisible = bytes.withUnsafeBufferPointer { HeaderRules.isVisible($0) }
                        if isVisible != (0x21...0x7e).contains(byte) {
                            Issue.record("byte \(byte) at \(place) of \(length) was judged \(isVisible)")
                        }
                    }
                }
            }
        }
    }
}

import Testing

@testable import TLSEngine

@Suite("The queue of bytes")
struct ByteQueueTests {
    @Test("what goes in comes out in order, whatever the pattern of appends and reads")
    func order() {
        var queue = ByteQueue(capacity: 8)
        var written: UInt8 = 0
        var read: UInt8 = 0
        // A fixed pseudo-random walk.
        var seed: UInt64 = 42
        for _ in 0..<5000 {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let count = Int(seed >> 40) % 37
            if seed >> 63 == 0 {
                let bytes = (0..<count).map { written &+ UInt8($0) }
                bytes.withUnsafeBytes { queue.append($0) }
                written &+= UInt8(count)
            } else {
                var target = [UInt8](repeating: 0, count: count)
                let moved = target.withUnsafeMutableBytes { queue.move(into: $0) }
                for index in 0..<moved { #expect(target[index] == read &+ UInt8(index)) }
                read &+= UInt8(moved)
            }
        }
        let rest = Array(queue.readable)
        #expect(rest == rest.indices.map { read &+ UInt8(truncatingIfNeeded: $0) })
        #expect(queue.count == rest.count)
    }
}

import TestSupport
import Testing

@testable import TLSEngine

/// Conversations with random damage. What fails says its seed; `tools/fuzz --seed N` replays it.
@Suite("TLS with random damage", .timeLimit(.minutes(10)))
struct FuzzTests {
    private let arena: Arena

    init() throws {
        arena = try Arena()
    }

    @Test("a damaged conversation never crashes and never delivers what was not said", arguments: [true, false])
    func damaged(isServer: Bool) throws {
        for seed in FuzzSeeds.range {
            var random = SeededRandom(seed: seed)
            let subject = try arena.subject(isServer)
            let peer = try arena.peer(of: isServer)
            let text = (0..<Int.random(in: 1...3000, using: &random)).map { UInt8(truncatingIfNeeded: $0) }
            let damagedFlight = Int.random(in: 0..<4, using: &random)
            subject.begin()
            for flight in 0..<4 where !subject.isOver {
                peer.feed(subject.takeOutput())
                peer.shakeHands()
                if subject.isOpen { peer.write(text) }
                var bytes = peer.takeOutput()
                if flight == damagedFlight { damage(&bytes, &random) }
                subject.feed(bytes)
            }
            // Whole records only, in order.
            let said = (0..<4).flatMap { _ in text }
            #expect(said.starts(with: subject.received), "seed \(seed)")
            #expect(subject.mostHeld < 256 * 1024, "seed \(seed)")
        }
    }

    /// The keys are new each time, so that a seed repeats the places and kinds of the damage, not every byte.
    private func damage(_ bytes: inout [UInt8], _ random: inout SeededRandom) {
        guard !bytes.isEmpty else { return }
        let start = Int.random(in: 0..<bytes.count, using: &random)
        let end = min(bytes.count, start + Int.random(in: 1...200, using: &random))
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes.removeSubrange(start..<end)
        case 1: bytes.insert(contentsOf: bytes[start..<end], at: start)
        case 2: bytes.removeSubrange(start...)
        case 3: bytes = Array(bytes[start...] + bytes[..<start])
        case 4: bytes[start..<end].shuffle(using: &random)
        default: bytes[start] ^= 1 << UInt8.random(in: 0...7, using: &random)
        }
    }
}

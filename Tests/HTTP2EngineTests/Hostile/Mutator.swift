import TestSupport

/// Turns what a well-meaning peer says into what a broken or hostile one might: structured, and the same for the same
/// seed.
struct Mutator {
    private var random: SeededRandom
    /// Frames to splice in, of another conversation.
    private let others: [[UInt8]]

    init(seed: UInt64, others: [[UInt8]]) {
        random = SeededRandom(seed: seed)
        self.others = others
    }

    /// Bytes to feed, in pieces of every size.
    mutating func pieces(of frames: [[UInt8]]) -> [[UInt8]] {
        var frames = frames
        for _ in 0..<Int.random(in: 1...6, using: &random) { changeFrames(&frames) }
        var bytes = frames.flatMap { $0 }
        if chance(1, of: 3) { changeBytes(&bytes) }
        return cut(bytes)
    }

    /// Whether this peer reads what it is told.
    mutating func reads() -> Bool { !chance(1, of: 5) }

    private mutating func chance(_ part: Int, of whole: Int) -> Bool {
        Int.random(in: 0..<whole, using: &random) < part
    }

    private mutating func byte() -> UInt8 { .random(in: 0...255, using: &random) }

    private mutating func changeFrames(_ frames: inout [[UInt8]]) {
        guard let place = frames.indices.randomElement(using: &random) else { return }
        let other = frames.indices.randomElement(using: &random) ?? place
        switch Int.random(in: 0..<9, using: &random) {
        case 0: frames.remove(at: place)
        case 1: frames.insert(frames[other], at: place)
        case 2: frames.swapAt(place, other)
        case 3: frames.insert(others.randomElement(using: &random) ?? [], at: place)
        case 4: frames.insert(invented(), at: place)
        case 5:
            let flood = [[UInt8]](repeating: frames[place], count: .random(in: 2...3000, using: &random))
            frames.insert(contentsOf: flood, at: place)
        default: changeFrame(&frames[place])
        }
    }

    /// One field of a frame's head, or its payload with the length kept true.
    private mutating func changeFrame(_ frame: inout [UInt8]) {
        guard frame.count >= 9 else { return }
        switch Int.random(in: 0..<8, using: &random) {
        case 0: setLength(&frame, Int.random(in: 0...0xff_ffff, using: &random))
        case 1: setLength(&frame, max(0, frame.count - 9 + Int.random(in: -3...3, using: &random)))
        case 2: frame[3] = .random(in: 0...12, using: &random)
        case 3: frame[4] ^= 1 << UInt8.random(in: 0...7, using: &random)
        case 4: frame[8] = UInt8.random(in: 0...30, using: &random)
        case 5: frame[5] = byte()
        case 6:
            frame.removeLast(Int.random(in: 0...(frame.count - 9), using: &random))
            setLength(&frame, frame.count - 9)
        default:
            for _ in 0..<Int.random(in: 1...300, using: &random) {
                frame.insert(byte(), at: Int.random(in: 9...frame.count, using: &random))
            }
            setLength(&frame, frame.count - 9)
        }
    }

    private func setLength(_ frame: inout [UInt8], _ length: Int) {
        for index in 0..<3 { frame[index] = UInt8(truncatingIfNeeded: length >> (16 - 8 * index)) }
    }

    /// A frame of any type, flags and stream whose length is true and whose payload is chance.
    private mutating func invented() -> [UInt8] {
        let size = chance(1, of: 10) ? 16_384 : Int.random(in: 0...64, using: &random)
        let payload = (0..<size).map { _ in byte() }
        let stream = UInt32.random(in: 0...30, using: &random)
        return RawFrame.frame(type: .random(in: 0...11, using: &random), flags: byte(), stream: stream, payload)
    }

    private mutating func changeBytes(_ bytes: inout [UInt8]) {
        guard !bytes.isEmpty else { return }
        let start = Int.random(in: 0..<bytes.count, using: &random)
        let end = min(bytes.count, start + Int.random(in: 1...40, using: &random))
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes.removeSubrange(start..<end)
        case 1: bytes.insert(contentsOf: bytes[start..<end], at: start)
        case 2: bytes.removeSubrange(start...)
        default:
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0...7, using: &random)
            }
        }
    }

    private mutating func cut(_ bytes: [UInt8]) -> [[UInt8]] {
        // All at once, byte by byte at first, or at random.
        let largest = [bytes.count + 1, 3, 200, 5000].randomElement(using: &random) ?? 1
        var pieces: [[UInt8]] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            // Small pieces only where the conversation begins: floods would take for ever.
            let limit = pieces.count < 2000 ? largest : bytes.count
            pieces.append(Array(rest.prefix(.random(in: 1...max(1, limit), using: &random))))
            rest = rest.dropFirst(pieces.last?.count ?? 1)
        }
        return pieces
    }
}

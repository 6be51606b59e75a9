import JSON
import TestSupport

extension JSONValue {
    /// A value of at most that many levels; every kind, and texts with everything that needs escaping.
    static func random(depth: Int, using generator: inout SeededRandom) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 7 : 5), using: &generator) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &generator))
        case 2: return .number(JSONNumber(Int64.random(in: .min ... .max, using: &generator)))
        case 3:
            return JSONNumber(Double(bitPattern: generator.next())).map(JSONValue.number) ?? .null
        case 4: return .string(randomText(using: &generator))
        case 5:
            return .array(
                (0..<Int.random(in: 0...5, using: &generator)).map { _ in random(depth: depth - 1, using: &generator) }
            )
        default:
            var object = JSONObject()
            for _ in 0..<Int.random(in: 0...20, using: &generator) {
                object[randomText(using: &generator)] = random(depth: depth - 1, using: &generator)
            }
            return .object(object)
        }
    }

    private static func randomText(using generator: inout SeededRandom) -> String {
        var text = ""
        for _ in 0..<Int.random(in: 0...12, using: &generator) {
            let ranges: [ClosedRange<UInt32>] = [
                0...0x1F, 0x20...0x7F, 0x80...0x7FF, 0x800...0xD7FF, 0xE000...0xFFFF, 0x10000...0x10FFFF,
            ]
            let range = ranges[Int.random(in: ranges.indices, using: &generator)]
            if let scalar = Unicode.Scalar(UInt32.random(in: range, using: &generator)) {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

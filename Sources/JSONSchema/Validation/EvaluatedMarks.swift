/// The members or items of one value that some schema has evaluated, by index. Up to 64 need no heap storage.
struct EvaluatedMarks: Sendable {
    private var first: UInt64 = 0
    private var rest: [UInt64] = []

    subscript(index: Int) -> Bool {
        if index < 64 { return first >> UInt64(index) & 1 == 1 }
        let word = index / 64 - 1
        return word < rest.count && rest[word] >> UInt64(index % 64) & 1 == 1
    }

    mutating func mark(_ index: Int) {
        guard index >= 64 else {
            first |= 1 << UInt64(index)
            return
        }
        let word = index / 64 - 1
        if word >= rest.count { rest += Array(repeating: 0, count: word + 1 - rest.count) }
        rest[word] |= 1 << UInt64(index % 64)
    }

    mutating func formUnion(_ other: EvaluatedMarks) {
        first |= other.first
        if other.rest.count > rest.count { rest += Array(repeating: 0, count: other.rest.count - rest.count) }
        for (word, bits) in other.rest.enumerated() { rest[word] |= bits }
    }
}

/// Searches texts for patterns, one after the other. It reuses its storage.
struct PatternMatcher: Sendable {
    /// The instructions that are active before the next scalar. The second list collects the ones after it.
    private var current: [Int] = []
    private var following: [Int] = []
    private var stack: [Int] = []
    /// When each instruction was last visited, so that no list contains one twice.
    private var visits: [Int] = []
    private var turn = 0

    /// Whether the pattern occurs in the text. Every visited instruction costs one unit of `effort`. When the effort is
    /// used up, the answer is false.
    mutating func finds(_ pattern: Pattern, in text: String, effort: inout Int) -> Bool {
        if visits.count < pattern.instructions.count {
            visits += Array(repeating: 0, count: pattern.instructions.count - visits.count)
        }
        current.removeAll(keepingCapacity: true)
        var previous: Unicode.Scalar?
        var scalars = text.unicodeScalars.makeIterator()
        while true {
            let next = scalars.next()
            turn += 1
            following.removeAll(keepingCapacity: true)
            // A match may begin at every position.
            if visit(0, pattern, previous, next, &effort) { return true }
            for instruction in current where visit(instruction, pattern, previous, next, &effort) { return true }
            guard let next, effort > 0 else { return false }
            current.removeAll(keepingCapacity: true)
            for instruction in following {
                guard case .scalar(let set) = pattern.instructions[instruction] else { continue }
                effort -= pattern.sets[set].effort(for: next)
                if pattern.sets[set].contains(next) { current.append(instruction + 1) }
            }
            previous = next
        }
    }

    /// Follows instructions until they need a scalar; true if one is a match.
    private mutating func visit(
        _ start: Int,
        _ pattern: Pattern,
        _ previous: Unicode.Scalar?,
        _ next: Unicode.Scalar?,
        _ effort: inout Int
    ) -> Bool {
        stack.append(start)
        while let place = stack.popLast() {
            guard visits[place] != turn else { continue }
            visits[place] = turn
            effort -= 1
            switch pattern.instructions[place] {
            case .match:
                stack.removeAll(keepingCapacity: true)
                return true
            case .scalar:
                following.append(place)
            case .jump(let target):
                stack.append(target)
            case .split(let first, let second):
                stack.append(second)
                stack.append(first)
            case .assertion(let assertion):
                if assertion.holds(between: previous, and: next) { stack.append(place + 1) }
            }
        }
        return false
    }
}

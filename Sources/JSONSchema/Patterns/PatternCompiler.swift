/// One instruction of the machine that runs a pattern.
enum PatternInstruction: Sendable {
    /// Consumes one scalar of that set.
    case scalar(Int)
    /// Continues at both instructions.
    case split(Int, Int)
    case jump(Int)
    case assertion(PatternAssertion)
    case match
}

/// Compiles a pattern into a list of instructions (Thompson's construction).
struct PatternCompiler {
    /// The maximum number of instructions of one pattern.
    static let maximumSize = 8_192

    private(set) var instructions: [PatternInstruction] = []
    private(set) var sets: [ScalarSet] = []

    init(_ syntax: PatternSyntax) throws(PatternError) {
        try emit(syntax)
        try append(.match)
    }

    private mutating func emit(_ syntax: PatternSyntax) throws(PatternError) {
        switch syntax {
        case .scalar(let set):
            sets.append(set)
            try append(.scalar(sets.count - 1))
        case .sequence(let terms):
            for term in terms { try emit(term) }
        case .alternatives(let alternatives):
            try emit(alternatives: alternatives)
        case .repetition(let inner, let least, let most):
            try emit(inner, atLeast: least, atMost: most)
        case .assertion(let assertion):
            try append(.assertion(assertion))
        case .unsupported(let what):
            throw PatternError(kind: .unsupported, message: "\(what), which is not supported")
        }
    }

    private mutating func emit(alternatives: [PatternSyntax]) throws(PatternError) {
        var jumps: [Int] = []
        for alternative in alternatives.dropLast() {
            let split = try append(.match)
            try emit(alternative)
            jumps.append(try append(.match))
            instructions[split] = .split(split + 1, instructions.count)
        }
        if let last = alternatives.last { try emit(last) }
        for jump in jumps { instructions[jump] = .jump(instructions.count) }
    }

    /// Unrolls a counted repetition, so the size limit bounds it.
    private mutating func emit(_ inner: PatternSyntax, atLeast least: Int, atMost most: Int?) throws(PatternError) {
        for _ in 0..<least {
            let before = instructions.count
            try emit(inner)
            // An empty body stays empty when repeated.
            if instructions.count == before { return }
        }
        guard let most else {
            let split = try append(.match)
            try emit(inner)
            try append(.jump(split))
            instructions[split] = .split(split + 1, instructions.count)
            return
        }
        var splits: [Int] = []
        for _ in least..<most {
            splits.append(try append(.match))
            try emit(inner)
        }
        for split in splits { instructions[split] = .split(split + 1, instructions.count) }
    }

    /// Appends an instruction; a placeholder if its target is not known yet.
    @discardableResult
    private mutating func append(_ instruction: PatternInstruction) throws(PatternError) -> Int {
        guard instructions.count < Self.maximumSize else {
            throw PatternError(kind: .tooLarge, message: "written out, it has more than \(Self.maximumSize) steps")
        }
        instructions.append(instruction)
        return instructions.count - 1
    }
}

/// One step of the machine that a pattern becomes.
enum PatternInstruction: Sendable {
    /// Passes over one scalar of that set.
    case scalar(Int)
    /// Goes on at both places.
    case split(Int, Int)
    case jump(Int)
    case assertion(PatternAssertion)
    case match
}

/// Turns a pattern into a list of instructions (Thompson's construction).
struct PatternCompiler {
    /// The most instructions of one pattern.
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

    /// A counted repetition is written out, so the size limit bounds it.
    private mutating func emit(_ inner: PatternSyntax, atLeast least: Int, atMost most: Int?) throws(PatternError) {
        for _ in 0..<least {
            let before = instructions.count
            try emit(inner)
            // What is empty once is empty any number of times.
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

    /// Adds an instruction, a place holder at first where it has to know what comes behind it.
    @discardableResult
    private mutating func append(_ instruction: PatternInstruction) throws(PatternError) -> Int {
        guard instructions.count < Self.maximumSize else {
            throw PatternError(kind: .tooLarge, message: "written out, it has more than \(Self.maximumSize) steps")
        }
        instructions.append(instruction)
        return instructions.count - 1
    }
}

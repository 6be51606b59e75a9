/// Refuses sources that would cost the parser too much time or stack for their length.
///
/// The parser tries `[`, `{` and `\\(` as the start of several constructs, and parses the inside again for each. The
/// time grows by a factor of about 1.6 with each open one. Measured in debug builds: 12 open `[` cost 45 ms, 20 open
/// `if a {` 86 ms. It also recurses once for every link of a chain such as `A.B.C`, `Int???` or `A<A<A`. A long chain
/// overflows the stack.
struct BracketBudget {
    private static let growth = 1.6
    /// A few seconds in a debug build. A bracket of ordinary code costs 2 or 3.
    private static let limit = 60_000.0
    private static let maximumLinks = 1_000
    private static let maximumParentheses = 200
    private static let maximumConditions = 50
    private static let maximumArrows = 300

    private var squares = [1.0]
    private var braces = [0.05]
    private var interpolations = 1.0
    private var total = 0.0
    private var links = 0
    private var parentheses = 0
    private var conditions = 0
    /// The number of `->` since the last brace or `=`.
    private var arrows = 0
    private var beforePrevious: UInt8 = 0

    /// Whether a text stays within the limits. Comments and string literals count like code, because only the parser
    /// can recognize them.
    static func isKept(by text: String) -> Bool {
        var budget = BracketBudget()
        var previous: UInt8 = 0
        for byte in text.utf8 {
            budget.read(byte, after: previous)
            budget.readCondition(byte, after: previous)
            guard budget.isKept else { return false }
            budget.beforePrevious = previous
            previous = byte
        }
        return true
    }

    private var isKept: Bool {
        total <= Self.limit && links <= Self.maximumLinks && parentheses <= Self.maximumParentheses
            && conditions <= Self.maximumConditions && arrows <= Self.maximumArrows
    }

    /// Counts open `#if` blocks, and arrows.
    private mutating func readCondition(_ byte: UInt8, after previous: UInt8) {
        if previous == UInt8(ascii: "-"), byte == UInt8(ascii: ">") { arrows += 1 }
        if [UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "=")].contains(byte) { arrows = 0 }
        if previous == UInt8(ascii: "#"), byte == UInt8(ascii: "i") { conditions += 1 }
        if beforePrevious == UInt8(ascii: "#"), previous == UInt8(ascii: "e"), byte == UInt8(ascii: "n") {
            conditions = max(0, conditions - 1)
        }
    }

    private mutating func read(_ byte: UInt8, after previous: UInt8) {
        switch byte {
        case UInt8(ascii: "["): Self.open(&squares, &total)
        case UInt8(ascii: "]"): if squares.count > 1 { squares.removeLast() }
        case UInt8(ascii: "{"): Self.open(&braces, &total)
        case UInt8(ascii: "}"): if braces.count > 1 { braces.removeLast() }
        case UInt8(ascii: "(") where previous == UInt8(ascii: "\\"):
            interpolations *= Self.growth
            total += interpolations
        case UInt8(ascii: "\n"): interpolations = 1
        default: break
        }
        readLink(byte)
    }

    private mutating func readLink(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "("): parentheses += 1
        case UInt8(ascii: ")"): parentheses = max(0, parentheses - 1)
        default: break
        }
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "?"), UInt8(ascii: "!"), UInt8(ascii: ">"): links += 1
        // It costs the parser several calls.
        case UInt8(ascii: "<"): links += 4
        case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: ","),
            UInt8(ascii: ":"), UInt8(ascii: ";"), UInt8(ascii: "="):
            links = 0
        default: break
        }
    }

    private static func open(_ costs: inout [Double], _ total: inout Double) {
        let cost = costs[costs.count - 1] * growth
        costs.append(cost)
        total += cost
    }
}

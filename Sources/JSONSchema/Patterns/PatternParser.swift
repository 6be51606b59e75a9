/// Parses a regular expression of ECMA-262 (22.2.1) with the flag `u`, as JSON Schema recommends.
struct PatternParser {
    /// The maximum nesting of groups.
    static let maximumDepth = 50
    /// The maximum count of a repetition.
    static let maximumCount = 10_000

    private let scalars: [Unicode.Scalar]
    private(set) var position = 0
    private var depth = 0
    private var groups = 0
    private var names: Set<String> = []
    private var referencedGroups = 0
    private var referencedNames: Set<String> = []

    init(_ text: String) { scalars = Array(text.unicodeScalars) }

    mutating func parse() throws(PatternError) -> PatternSyntax {
        let syntax = try parseAlternatives()
        if current != nil { throw Self.syntax("there is a ')' without its '('") }
        if referencedGroups > groups {
            throw Self.syntax("'\\\(referencedGroups)' refers to a group that is not there")
        }
        if let name = referencedNames.subtracting(names).min() {
            throw Self.syntax("'\\k<\(name)>' refers to a group that is not there")
        }
        return syntax
    }

    // MARK: Structure

    private mutating func parseAlternatives() throws(PatternError) -> PatternSyntax {
        var alternatives = [try parseSequence()]
        while skip("|") { alternatives.append(try parseSequence()) }
        return alternatives.count == 1 ? alternatives[0] : .alternatives(alternatives)
    }

    private mutating func parseSequence() throws(PatternError) -> PatternSyntax {
        var terms: [PatternSyntax] = []
        while let scalar = current, scalar != "|", scalar != ")" { terms.append(try parseTerm(scalar)) }
        return terms.count == 1 ? terms[0] : .sequence(terms)
    }

    private mutating func parseTerm(_ scalar: Unicode.Scalar) throws(PatternError) -> PatternSyntax {
        position += 1
        switch scalar {
        case "^": return .assertion(.start)
        case "$": return .assertion(.end)
        case "(": return try parseGroup()
        case ".": return try parseRepetition(of: .scalar(ScalarSet.lineEnd.inverted))
        case "[":
            var parser = PatternClassParser(scalars: scalars, position: position)
            let set = try parser.parse()
            position = parser.position
            return try parseRepetition(of: .scalar(set))
        case "\\": return try parseEscape()
        case "*", "+", "?", "{": throw Self.syntax("'\(scalar)' has nothing before it to repeat")
        case "}", "]": throw Self.syntax("a '\(scalar)' that stands for itself must be written '\\\(scalar)'")
        default: return try parseRepetition(of: .scalar(ScalarSet(scalar)))
        }
    }

    private mutating func parseGroup() throws(PatternError) -> PatternSyntax {
        depth += 1
        guard depth <= Self.maximumDepth else {
            throw PatternError(
                kind: .tooLarge,
                message: "more than \(Self.maximumDepth) groups stand inside each other"
            )
        }
        var look: String?
        if skip("?") { look = try parseGroupKind() } else { groups += 1 }
        let inner = try parseAlternatives()
        guard skip(")") else { throw Self.syntax("a '(' has no ')'") }
        depth -= 1
        // A look-around is an assertion and cannot be repeated.
        if let look { return .unsupported(look) }
        return try parseRepetition(of: inner)
    }

    /// Parses the part after `(?`. Returns the name of a look-around, which is parsed but not matched.
    private mutating func parseGroupKind() throws(PatternError) -> String? {
        if skip(":") { return nil }
        if skip("=") { return "'(?=' looks ahead" }
        if skip("!") { return "'(?!' looks ahead" }
        guard skip("<") else { throw Self.syntax("'(?' must be followed by ':', '=', '!' or '<'") }
        if skip("=") { return "'(?<=' looks behind" }
        if skip("!") { return "'(?<!' looks behind" }
        let name = try parseName()
        groups += 1
        guard names.insert(name).inserted else { throw Self.syntax("the group '\(name)' is named twice") }
        return nil
    }

    private mutating func parseName() throws(PatternError) -> String {
        var name = ""
        while let scalar = current, scalar != ">" {
            let isAllowed =
                name.isEmpty
                ? scalar.properties.isIDStart || scalar == "_" || scalar == "$"
                : scalar.properties.isIDContinue || scalar == "$"
            guard isAllowed else { break }
            name.unicodeScalars.append(scalar)
            position += 1
        }
        guard !name.isEmpty, skip(">") else { throw Self.syntax("a group's name must be an identifier in '<' and '>'") }
        return name
    }

    // MARK: Escapes

    private mutating func parseEscape() throws(PatternError) -> PatternSyntax {
        if skip("b") { return .assertion(.wordBoundary) }
        if skip("B") { return .assertion(.notWordBoundary) }
        if skip("k") {
            guard skip("<") else { throw Self.syntax("'\\k' must be followed by a name in '<' and '>'") }
            referencedNames.insert(try parseName())
            return try parseRepetition(of: .unsupported("'\\k' refers back to what a group matched"))
        }
        if let scalar = current, ("1"..."9").contains(scalar) {
            referencedGroups = max(referencedGroups, parseNumber() ?? 0)
            return try parseRepetition(of: .unsupported("'\\\(scalar)' refers back to what a group matched"))
        }
        var escape = PatternEscape(scalars: scalars, position: position, isInClass: false)
        let set = try escape.parse()
        position = escape.position
        return try parseRepetition(of: .scalar(set))
    }

    // MARK: Repetition

    private mutating func parseRepetition(of inner: PatternSyntax) throws(PatternError) -> PatternSyntax {
        let repeated: PatternSyntax
        if skip("*") {
            repeated = .repetition(inner, least: 0, most: nil)
        } else if skip("+") {
            repeated = .repetition(inner, least: 1, most: nil)
        } else if skip("?") {
            repeated = .repetition(inner, least: 0, most: 1)
        } else if skip("{") {
            let (least, most) = try parseCounts()
            repeated = .repetition(inner, least: least, most: most)
        } else {
            return inner
        }
        _ = skip("?")
        return repeated
    }

    /// Parses the part after `{`.
    private mutating func parseCounts() throws(PatternError) -> (least: Int, most: Int?) {
        guard let least = parseNumber() else { throw Self.syntax("'{' must be followed by a number") }
        var most: Int? = least
        if skip(",") { most = parseNumber() }
        guard skip("}") else { throw Self.syntax("a count must end with '}'") }
        if let most, most < least { throw Self.syntax("a count's upper limit is below its lower one") }
        guard max(least, most ?? 0) <= Self.maximumCount else {
            throw PatternError(kind: .tooLarge, message: "a count is beyond \(Self.maximumCount)")
        }
        return (least, most)
    }

    /// Parses digits into a number, which saturates above all limits; `nil` if there is no digit.
    private mutating func parseNumber() -> Int? {
        let start = position
        var number = 0
        while let scalar = current, ("0"..."9").contains(scalar) {
            number = min(number * 10 + Int(scalar.value - 0x30), 1_000_000_000)
            position += 1
        }
        return position > start ? number : nil
    }

    // MARK: Steps

    private var current: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

    private mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
        guard current == scalar else { return false }
        position += 1
        return true
    }

    static func syntax(_ message: String) -> PatternError { PatternError(kind: .syntax, message: message) }
}

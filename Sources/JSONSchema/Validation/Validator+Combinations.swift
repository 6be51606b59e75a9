internal import JSON

extension Validator {
    mutating func checkCombination(_ value: JSONValue, _ rule: SchemaRule, _ id: SchemaNode.ID) -> Bool {
        switch rule {
        case .reference(let index):
            return check(value, program.tables.references[index])
        case .dynamicReference(let index):
            return check(value, target(of: program.tables.dynamicReferences[index]))
        case .allOf(let branches):
            return checkAllOf(value, branches)
        case .anyOf(let branches):
            return checkAnyOf(value, branches) || refuseAlternatives(value, branches, id, "anyOf")
        case .oneOf(let branches):
            return checkOneOf(value, branches, id)
        case .not(let schema):
            let before = evaluated
            let isValid = !probe(value, schema)
            evaluated = before
            return isValid || refuse(id, "not", "\(Phrasing.of(value)) is what must not be here")
        case .conditional(let condition, let then, let otherwise):
            guard let schema = attempt(value, condition) ? then : otherwise else { return true }
            return check(value, schema)
        default:
            return true
        }
    }

    private mutating func checkAllOf(_ value: JSONValue, _ branches: Range<Int>) -> Bool {
        var isValid = true
        for branch in branches where !check(value, program.tables.branches[branch]) {
            isValid = false
            if isDone { return false }
        }
        return isValid
    }

    private mutating func checkAnyOf(_ value: JSONValue, _ branches: Range<Int>) -> Bool {
        var isValid = false
        for branch in branches where attempt(value, program.tables.branches[branch]) {
            isValid = true
            // Further matches matter only if an `unevaluated…` keyword needs their marks.
            if evaluated == nil { break }
        }
        return isValid
    }

    private mutating func checkOneOf(_ value: JSONValue, _ branches: Range<Int>, _ id: SchemaNode.ID) -> Bool {
        var match: Int?
        for (index, branch) in branches.enumerated() where attempt(value, program.tables.branches[branch]) {
            if let match {
                let message = "\(Phrasing.of(value)) fits alternatives \(match) and \(index), exactly one is expected"
                return refuse(id, "oneOf", message)
            }
            match = index
        }
        return match != nil || refuseAlternatives(value, branches, id, "oneOf")
    }

    /// Records why a value matches no alternative; always false.
    ///
    /// If the value's type or a fixed value excludes all alternatives but one, the author meant that one. Then its
    /// violations are the useful message. An example is `anyOf: [{"type": "null"}, …]`.
    private mutating func refuseAlternatives(
        _ value: JSONValue,
        _ branches: Range<Int>,
        _ id: SchemaNode.ID,
        _ keyword: String
    ) -> Bool {
        guard isCollecting else { return false }
        let place = instance
        var meant: [[Violation]] = []
        for branch in branches {
            let found = findings(value, program.tables.branches[branch])
            let isOutOfQuestion = found.contains { finding in
                finding.instance == place && ["type", "const", "enum", "false"].contains(finding.keyword)
            }
            if !isOutOfQuestion { meant.append(found) }
        }
        if meant.count == 1 {
            record(meant[0])
            return false
        }
        let alternatives = Phrasing.count(branches.count, "alternative")
        return refuse(id, keyword, "\(Phrasing.of(value)) fits none of \(alternatives)")
    }
}

internal import JSON

extension Validator {
    mutating func checkCombination(_ value: JSONValue, _ rule: SchemaNode.Rule, _ id: SchemaNode.ID) -> Bool {
        switch rule {
        case .allOf(let schemas):
            var isValid = true
            for schema in schemas where !check(value, schema) {
                isValid = false
                if isDone { return false }
            }
            return isValid
        case .anyOf(let schemas):
            for schema in schemas where probe(value, schema) { return true }
            return refuseAlternatives(value, schemas, id, "anyOf")
        case .oneOf(let schemas):
            return checkOneOf(value, schemas, id)
        case .not(let schema):
            return !probe(value, schema) || refuse(id, "not", "\(Phrasing.of(value)) is what must not be here")
        case .conditional(let condition, let then, let otherwise):
            guard let schema = probe(value, condition) ? then : otherwise else { return true }
            return check(value, schema)
        default:
            return true
        }
    }

    private mutating func checkOneOf(_ value: JSONValue, _ schemas: [SchemaNode.ID], _ id: SchemaNode.ID) -> Bool {
        var matching: [Int] = []
        for (index, schema) in schemas.enumerated() where probe(value, schema) {
            matching.append(index)
            if matching.count == 2 {
                let message =
                    "\(Phrasing.of(value)) fits alternatives \(matching[0]) and \(matching[1]), exactly one is expected"
                return refuse(id, "oneOf", message)
            }
        }
        return matching.count == 1 || refuseAlternatives(value, schemas, id, "oneOf")
    }

    /// Records why a value fits no alternative; always false.
    ///
    /// If all alternatives but one are out of the question by the value's type or by a fixed value, the author meant that
    /// one, and what it finds is what helps. So it is with `anyOf: [{"type": "null"}, …]`.
    private mutating func refuseAlternatives(
        _ value: JSONValue,
        _ schemas: [SchemaNode.ID],
        _ id: SchemaNode.ID,
        _ keyword: String
    ) -> Bool {
        guard isCollecting else { return false }
        let place = instance
        var meant: [[Violation]] = []
        for schema in schemas {
            let found = findings(value, schema)
            let isOutOfQuestion = found.contains { finding in
                finding.instance == place && ["type", "const", "enum", "false"].contains(finding.keyword)
            }
            if !isOutOfQuestion { meant.append(found) }
        }
        if meant.count == 1 {
            record(meant[0])
            return false
        }
        let alternatives = Phrasing.count(schemas.count, "alternative")
        return refuse(id, keyword, "\(Phrasing.of(value)) fits none of \(alternatives)")
    }
}

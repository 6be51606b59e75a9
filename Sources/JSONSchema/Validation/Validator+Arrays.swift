internal import JSON

extension Validator {
    mutating func checkArray(_ items: [JSONValue], _ rule: SchemaRule, _ id: SchemaNode.ID) -> Bool {
        switch rule {
        case .minItems(let limit):
            return items.count >= limit
                || refuse(id, "minItems", "\(Phrasing.count(items.count, "item")), at least \(limit) expected")
        case .maxItems(let limit):
            return items.count <= limit
                || refuse(id, "maxItems", "\(Phrasing.count(items.count, "item")), at most \(limit) expected")
        case .uniqueItems:
            return checkUnique(items, id)
        case .prefixItems(let branches):
            return checkFirst(items, branches)
        case .items(let schema, let first):
            return checkItems(items, from: first, schema, id)
        case .unevaluatedItems(let schema):
            return checkUnevaluated(items, schema, id)
        case .contains(let schema, let least, let most):
            return checkContains(items, schema, least, most, id)
        default:
            return true
        }
    }

    private mutating func checkFirst(_ items: [JSONValue], _ branches: Range<Int>) -> Bool {
        var isValid = true
        for (index, branch) in zip(items.indices, branches) {
            evaluated?.mark(index)
            if !check(items[index], at: index, program.tables.branches[branch]) {
                isValid = false
                if isDone { return false }
            }
        }
        return isValid
    }

    private mutating func checkItems(
        _ items: [JSONValue],
        from first: Int,
        _ schema: SchemaNode.ID,
        _ id: SchemaNode.ID
    ) -> Bool {
        guard first < items.count else { return true }
        if case .nothing = program.tables.nodes[schema].verdict {
            return refuse(id, "items", "\(Phrasing.count(items.count, "item")), at most \(first) expected")
        }
        var isValid = true
        for index in first..<items.count {
            evaluated?.mark(index)
            if !check(items[index], at: index, schema) {
                isValid = false
                if isDone { return false }
            }
        }
        return isValid
    }

    private mutating func checkUnevaluated(
        _ items: [JSONValue],
        _ schema: SchemaNode.ID,
        _ id: SchemaNode.ID
    ) -> Bool {
        guard let marks = evaluated else { return true }
        var isValid = true
        effort -= items.count
        for index in items.indices where !marks[index] {
            if case .nothing = program.tables.nodes[schema].verdict {
                return refuse(id, "unevaluatedItems", "item \(index) is not allowed here")
            }
            evaluated?.mark(index)
            if !check(items[index], at: index, schema) {
                isValid = false
                if isDone { return false }
            }
        }
        return isValid
    }

    private mutating func checkUnique(_ items: [JSONValue], _ id: SchemaNode.ID) -> Bool {
        effort -= items.reduce(0) { $0 + $1.fullWeight }
        guard effort > 0 else { return false }
        var places: [JSONValue: Int] = [:]
        places.reserveCapacity(items.count)
        for (index, item) in items.enumerated() {
            if let earlier = places.updateValue(index, forKey: item) {
                return refuse(id, "uniqueItems", "items \(earlier) and \(index) are equal")
            }
        }
        return true
    }

    private mutating func checkContains(
        _ items: [JSONValue],
        _ schema: SchemaNode.ID,
        _ least: Int,
        _ most: Int,
        _ id: SchemaNode.ID
    ) -> Bool {
        var count = 0
        for (index, item) in items.enumerated() where probe(part: item, schema) {
            evaluated?.mark(index)
            count += 1
        }
        if count < least {
            let keyword = least == 1 ? "contains" : "minContains"
            return refuse(
                id,
                keyword,
                "\(Phrasing.count(count, "item")) of the kind that is asked for, at least \(least) expected"
            )
        }
        if count > most {
            return refuse(
                id,
                "maxContains",
                "\(Phrasing.count(count, "item")) of the kind that is limited, at most \(most) expected"
            )
        }
        return true
    }
}

internal import JSON

extension Validator {
    mutating func checkArray(_ items: [JSONValue], _ rule: SchemaNode.Rule, _ id: SchemaNode.ID) -> Bool {
        switch rule {
        case .minItems(let limit):
            return items.count >= limit
                || refuse(id, "minItems", "\(Phrasing.count(items.count, "item")), at least \(limit) expected")
        case .maxItems(let limit):
            return items.count <= limit
                || refuse(id, "maxItems", "\(Phrasing.count(items.count, "item")), at most \(limit) expected")
        case .uniqueItems:
            return checkUnique(items, id)
        case .prefixItems(let schemas):
            var isValid = true
            for (index, (item, schema)) in zip(items, schemas).enumerated() where !check(item, at: index, schema) {
                isValid = false
                if isDone { return false }
            }
            return isValid
        case .items(let schema, let first):
            return checkItems(items, from: first, schema, id)
        case .contains(let schema, let least, let most):
            return checkContains(items, schema, least, most, id)
        default:
            return true
        }
    }

    private mutating func checkItems(
        _ items: [JSONValue],
        from first: Int,
        _ schema: SchemaNode.ID,
        _ id: SchemaNode.ID
    ) -> Bool {
        guard first < items.count else { return true }
        if case .nothing = nodes[schema].verdict {
            return refuse(id, "items", "\(Phrasing.count(items.count, "item")), at most \(first) expected")
        }
        var isValid = true
        for index in first..<items.count where !check(items[index], at: index, schema) {
            isValid = false
            if isDone { return false }
        }
        return isValid
    }

    private mutating func checkUnique(_ items: [JSONValue], _ id: SchemaNode.ID) -> Bool {
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
        _ most: Int?,
        _ id: SchemaNode.ID
    ) -> Bool {
        var count = 0
        for item in items where probe(item, schema) { count += 1 }
        if count < least {
            let keyword = least == 1 ? "contains" : "minContains"
            return refuse(
                id,
                keyword,
                "\(Phrasing.count(count, "item")) of the kind that is asked for, at least \(least) expected"
            )
        }
        if let most, count > most {
            return refuse(
                id,
                "maxContains",
                "\(Phrasing.count(count, "item")) of the kind that is limited, at most \(most) expected"
            )
        }
        return true
    }
}

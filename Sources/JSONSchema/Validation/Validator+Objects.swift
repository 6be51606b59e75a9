internal import JSON

extension Validator {
    mutating func checkObject(
        _ object: JSONObject,
        _ value: JSONValue,
        _ rule: SchemaRule,
        _ id: SchemaNode.ID
    ) -> Bool {
        switch rule {
        case .minProperties(let limit):
            return object.count >= limit
                || refuse(id, "minProperties", "\(Phrasing.count(object.count, "member")), at least \(limit) expected")
        case .maxProperties(let limit):
            return object.count <= limit
                || refuse(id, "maxProperties", "\(Phrasing.count(object.count, "member")), at most \(limit) expected")
        case .required(let names):
            return checkRequired(names, object, id)
        case .dependentRequired(let index):
            return checkDependencies(program.tables.dependentNames[index], object, id)
        case .dependentSchemas(let index):
            var isValid = true
            for (key, schema) in program.tables.dependentSchemas[index]
            where has(key, object) && !check(value, schema) {
                isValid = false
                if isDone { return false }
            }
            return isValid
        case .propertyNames(let schema):
            return checkNames(object, schema, id)
        case .members(let index):
            return checkMembers(object, program.tables.members[index], id)
        case .unevaluatedProperties(let schema):
            return checkUnevaluated(object, schema, id)
        default:
            return true
        }
    }

    private mutating func checkRequired(_ names: Range<Int>, _ object: JSONObject, _ id: SchemaNode.ID) -> Bool {
        var isValid = true
        for index in names {
            effort -= 1 + program.tables.names[index].weight
            if object.contains(program.tables.names[index], near: index - names.lowerBound) { continue }
            let name = program.tables.names[index]
            isValid = refuse(id, "required", "'\(name)' is required")
            if isDone { return false }
        }
        return isValid
    }

    private mutating func checkDependencies(
        _ dependencies: [(key: String, needed: [String])],
        _ object: JSONObject,
        _ id: SchemaNode.ID
    ) -> Bool {
        var isValid = true
        for (key, needed) in dependencies where has(key, object) {
            for other in needed where !has(other, object) {
                isValid = refuse(id, "dependentRequired", "'\(other)' is required where '\(key)' is")
                if isDone { return false }
            }
        }
        return isValid
    }

    private mutating func has(_ name: String, _ object: JSONObject) -> Bool {
        effort -= 1 + name.weight
        return object[name] != nil
    }

    private mutating func checkNames(_ object: JSONObject, _ schema: SchemaNode.ID, _ id: SchemaNode.ID) -> Bool {
        var isValid = true
        for key in object.keys where !probe(part: .string(key), schema) {
            let reason = isCollecting ? findings(.string(key), schema).first?.message : nil
            isValid = refuse(id, "propertyNames", "the name '\(key)' is not allowed: \(reason ?? "it does not fit")")
            if isDone { return false }
        }
        return isValid
    }

    private mutating func checkMembers(_ object: JSONObject, _ members: MemberSchemas, _ id: SchemaNode.ID) -> Bool {
        var isValid = true
        // Reads members in place. Copying one out would cost reference counting.
        let entries = object.entries.span
        for index in entries.indices {
            effort -= 1 + entries[index].key.weight
            var isMeant = false
            if let schema = program.schema(of: entries[index].key, in: members, near: index) {
                isMeant = true
                isValid = checkMember(entries[index].value, entries[index].key, schema, "properties", id) && isValid
            }
            for place in members.patterns
            where finds(program.tables.patternMembers[place].pattern, in: entries[index].key) {
                isMeant = true
                let schema = program.tables.patternMembers[place].schema
                isValid =
                    checkMember(entries[index].value, entries[index].key, schema, "patternProperties", id) && isValid
            }
            if !isMeant, let schema = members.others {
                isMeant = true
                isValid =
                    checkMember(entries[index].value, entries[index].key, schema, "additionalProperties", id) && isValid
            }
            if isMeant { evaluated?.mark(index) }
            if !isValid, isDone { return false }
        }
        return isValid
    }

    private mutating func checkUnevaluated(_ object: JSONObject, _ schema: SchemaNode.ID, _ id: SchemaNode.ID) -> Bool {
        guard let marks = evaluated else { return true }
        var isValid = true
        effort -= object.count
        for (index, (key, value)) in object.entries.enumerated() where !marks[index] {
            evaluated?.mark(index)
            isValid = checkMember(value, key, schema, "unevaluatedProperties", id) && isValid
            if !isValid, isDone { return false }
        }
        return isValid
    }

    /// Whether a member satisfies a schema of that keyword.
    private mutating func checkMember(
        _ value: JSONValue,
        _ key: String,
        _ schema: SchemaNode.ID,
        _ keyword: String,
        _ id: SchemaNode.ID
    ) -> Bool {
        guard case .nothing = program.tables.nodes[schema].verdict else { return check(value, at: key, schema) }
        return refuse(member: key, id, keyword, "'\(key)' is not allowed here")
    }
}

internal import JSON

extension Validator {
    mutating func checkObject(_ object: JSONObject, _ rule: SchemaNode.Rule, _ id: SchemaNode.ID) -> Bool {
        switch rule {
        case .minProperties(let limit):
            return object.count >= limit
                || refuse(id, "minProperties", "\(Phrasing.count(object.count, "member")), at least \(limit) expected")
        case .maxProperties(let limit):
            return object.count <= limit
                || refuse(id, "maxProperties", "\(Phrasing.count(object.count, "member")), at most \(limit) expected")
        case .required(let keys):
            return checkRequired(keys, object, id)
        case .dependentRequired(let dependencies):
            return checkDependencies(dependencies, object, id)
        case .dependentSchemas(let dependencies):
            var isValid = true
            for (key, schema) in dependencies where object[key] != nil && !check(.object(object), schema) {
                isValid = false
                if isDone { return false }
            }
            return isValid
        case .propertyNames(let schema):
            return checkNames(object, schema, id)
        case .members(let known, let others):
            return checkMembers(object, known, others, id)
        default:
            return true
        }
    }

    private mutating func checkRequired(_ keys: [String], _ object: JSONObject, _ id: SchemaNode.ID) -> Bool {
        var isValid = true
        for key in keys where object[key] == nil {
            isValid = refuse(id, "required", "'\(key)' is required")
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
        for (key, needed) in dependencies where object[key] != nil {
            for other in needed where object[other] == nil {
                isValid = refuse(id, "dependentRequired", "'\(other)' is required where '\(key)' is")
                if isDone { return false }
            }
        }
        return isValid
    }

    private mutating func checkNames(_ object: JSONObject, _ schema: SchemaNode.ID, _ id: SchemaNode.ID) -> Bool {
        var isValid = true
        for key in object.keys where !probe(.string(key), schema) {
            let reason = isCollecting ? findings(.string(key), schema).first?.message : nil
            isValid = refuse(id, "propertyNames", "the name '\(key)' is not allowed: \(reason ?? "it does not fit")")
            if isDone { return false }
        }
        return isValid
    }

    private mutating func checkMembers(
        _ object: JSONObject,
        _ known: [ExactText: SchemaNode.ID],
        _ others: SchemaNode.ID?,
        _ id: SchemaNode.ID
    ) -> Bool {
        var isValid = true
        for (key, value) in object.entries {
            guard let schema = known[ExactText(key)] ?? others else { continue }
            if case .nothing = nodes[schema].verdict {
                let keyword = known[ExactText(key)] == nil ? "additionalProperties" : "properties"
                isValid = refuse(member: key, id, keyword, "'\(key)' is not allowed here")
            } else if !check(value, at: key, schema) {
                isValid = false
            }
            if !isValid, isDone { return false }
        }
        return isValid
    }
}

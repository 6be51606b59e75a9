internal import JSON
internal import SwiftContent
internal import SwiftSyntax

extension SchemaBuilder {
    mutating func enumeration(_ declaration: Declaration, _ head: Declaration.Head, _ path: TypePath) -> JSONValue? {
        let rawType = rawType(of: declaration, path)
        guard let conformances = synthesised(declaration, head, path, rawType: rawType?.expression) else { return nil }
        let cases = EnumCase.all(of: declaration)
        let name = path.joined(separator: ".")
        guard !cases.isEmpty else {
            report("'\(name)' has no cases, so nothing can be decoded", at: head.place)
            return nil
        }
        guard let rawType else {
            if conformances.isRawRepresentable {
                report(
                    "the raw values of '\(name)' are made by its own code; supply a schema for '\(path.last ?? name)'",
                    at: head.place
                )
                return nil
            }
            return casesByKey(cases, path)
        }
        if let own = declaration.initializer(labelled: "rawValue") {
            report("'\(name)' has its own init(rawValue:); supply a schema for '\(path.last ?? name)'", at: own.place)
            return nil
        }
        guard let values = rawValues(of: cases, type: rawType.name) else { return nil }
        let type = rawType.name == "String" ? "string" : BuiltInType.isInteger(rawType.name) ? "integer" : "number"
        return [
            "type": .string(type), "enum": .array(values), "x-swift-type": .string(name),
            "x-swift-raw-type": .string(rawType.name),
        ]
    }

    /// The type of the raw values: the first type after the colon, unless that is a protocol.
    func rawType(of declaration: Declaration, _ path: TypePath) -> (expression: TypeExpression, name: String)? {
        guard let first = declaration.inherited.first, case .foreign(let foreign)? = index.target(of: first, in: path)
        else { return nil }
        guard BuiltInType.isRawValue(foreign), foreign != "Bool" else { return nil }
        return (first, BuiltInType.canonical(foreign))
    }

    /// The raw values in the order of the cases, written or counted; `nil` if one is unknown.
    mutating func rawValues(of cases: [EnumCase], type: String) -> [JSONValue]? {
        var values: [JSONValue] = []
        var next: Int64 = 0
        for item in cases {
            let literal = item.rawValue.flatMap { Literal($0) }
            switch (type, literal, item.rawValue) {
            case ("String", .text(let text)?, _):
                values.append(.string(text))
            case ("String", nil, nil):
                values.append(.string(item.name))
            case (_, .integer(let number)?, _) where type != "String":
                values.append(.number(number))
                next = (number.int64 ?? Int64.max - 1) &+ 1
            case (_, .floatingPoint(let number)?, _) where type == "Double":
                values.append(.number(number))
            case (_, nil, nil) where type != "String":
                values.append(.number(JSONNumber(next)))
                next &+= 1
            default:
                report("this raw value cannot be told", at: item.place)
                return nil
            }
        }
        guard Set(values).count == values.count else {
            report("two cases have the same raw value", at: cases[0].place)
            return nil
        }
        return values
    }

    // MARK: Cases by key

    /// The compiler's encoding of cases without raw values: an object with the case as its only key. The key's value is
    /// an object of the associated values.
    private mutating func casesByKey(_ cases: [EnumCase], _ path: TypePath) -> JSONValue? {
        do {
            let keys = try CodingKeys(at: path + ["CodingKeys"], in: index)
            for item in keys?.keys ?? [] where !cases.contains(where: { $0.name == item.member }) {
                report("there is no case '\(item.member)' for this key", at: item.place)
            }
            var members: [Member] = []
            for item in cases {
                guard let key = keys.map({ $0[member: item.name] }) ?? item.name else { continue }
                let values = try associatedValues(of: item, path)
                members.append(Member(key: key, shape: Shape(schema: values, isOptional: true), place: item.place))
            }
            return oneOf(members, path)
        } catch {
            report(error)
            return nil
        }
    }

    private mutating func oneOf(_ members: [Member], _ path: TypePath) -> JSONValue {
        let keys = members.map(\.key)
        // The value of every key must be an object, even if null would satisfy an optional.
        let values = members.map {
            Member(key: $0.key, shape: Shape(schema: $0.shape.schema, isOptional: false), place: $0.place)
        }
        guard case .object(var schema) = object(values, name: path.joined(separator: ".")) else { return false }
        schema["required"] = nil
        if keys.count == 1 {
            schema["required"] = .array(keys.map(JSONValue.string))
        } else {
            schema["oneOf"] = .array(keys.map { ["required": [.string($0)]] })
        }
        return .object(schema)
    }

    private mutating func associatedValues(of item: EnumCase, _ path: TypePath) throws(SwiftImportError) -> JSONValue {
        let keysName = item.name.prefix(1).uppercased() + item.name.dropFirst() + "CodingKeys"
        let keys = try CodingKeys(at: path + [keysName], in: index)
        var members: [Member] = []
        for parameter in item.parameters {
            guard let key = keys.map({ $0[member: parameter.key] }) ?? parameter.key else { continue }
            guard let shape = shape(of: parameter.type, in: path) else { continue }
            members.append(Member(key: key, shape: shape, place: item.place))
        }
        return object(members, name: nil)
    }
}

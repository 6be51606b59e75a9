internal import JSON
internal import SwiftContent

extension SchemaBuilder {
    /// The schema of a type from the sources. `use` is where it is used; `nil` for the root. Returns `nil` after
    /// reporting a problem.
    mutating func schema(ofDeclared path: TypePath, from use: TypeExpression?) -> JSONValue? {
        guard let declaration = index.declarations[path], let head = declaration.head else { return nil }
        let name = path.joined(separator: ".")
        let remedy = "; supply a schema for '\(path.last ?? name)'"
        if let place = index.uncertain[path] {
            report(
                "'\(name)' depends on a condition whose outcome in the app is not known; leave the #if away here",
                at: place
            )
            return nil
        }
        if let (attribute, place) = head.unknownAttribute {
            report("@\(attribute) may be a macro that changes how '\(name)' is decoded\(remedy)", at: place)
            return nil
        }
        if head.isGeneric {
            report(
                "'\(name)' is generic; write a struct for what is sent, or supply a schema for '\(path.last ?? name)'",
                at: head.place
            )
            return nil
        }
        switch head.kind {
        case .structure:
            return structure(declaration, head, path)
        case .enumeration:
            return enumeration(declaration, head, path)
        case .reference, .protocolType:
            report(
                "'\(name)' is no struct or enum, so how it is decoded is not known\(remedy)",
                at: use?.place ?? head.place
            )
            return nil
        case .alias:
            return nil
        }
    }

    /// The protocols of a type whose decoding the compiler synthesizes. For any other type it reports the reason and
    /// returns `nil`.
    mutating func synthesised(
        _ declaration: Declaration,
        _ head: Declaration.Head,
        _ path: TypePath,
        rawType: TypeExpression? = nil
    ) -> Conformances? {
        let name = path.joined(separator: ".")
        let remedy = "; supply a schema for '\(path.last ?? name)'"
        let types = rawType == nil ? declaration.inherited : Array(declaration.inherited.dropFirst())
        let conformances = Conformances(types, scope: path, index: index)
        if let initializer = declaration.decodingInitializer {
            report(
                "'\(name)' has its own init(from:), and what that reads cannot be known\(remedy)",
                at: initializer.place
            )
            return nil
        }
        if let place = conformances.inheritedInitializer {
            report(
                "'\(name)' is decoded by the init(from:) of a protocol, and what that reads cannot be known\(remedy)",
                at: place
            )
            return nil
        }
        if let (unknown, place) = conformances.unknown {
            report("'\(unknown)' is not declared in the sources and might decode in its own way\(remedy)", at: place)
            return nil
        }
        guard conformances.isDecodable else {
            report("'\(name)' is not declared Codable in the sources\(remedy)", at: head.place)
            return nil
        }
        return conformances
    }

    // MARK: Structs

    private mutating func structure(
        _ declaration: Declaration,
        _ head: Declaration.Head,
        _ path: TypePath
    ) -> JSONValue? {
        guard let conformances = synthesised(declaration, head, path) else { return nil }
        let properties = StoredProperties(declaration)
        guard properties.problems.isEmpty else {
            report(SwiftImportError(properties.problems))
            return nil
        }
        if conformances.isRawRepresentable {
            return rawStructure(declaration, properties, head, path)
        }
        let keys: CodingKeys?
        do { keys = try CodingKeys(at: path + ["CodingKeys"], in: index) } catch {
            report(error)
            return nil
        }
        let known = Set(properties.decoded.map(\.name)).union(properties.fixed)
        for item in keys?.keys ?? [] where !known.contains(item.member) {
            report("there is no stored property '\(item.member)' for this key", at: item.place)
        }
        var members: [Member] = []
        for property in properties.decoded {
            guard let key = keys.map({ $0[member: property.name] }) ?? property.name else { continue }
            guard let shape = shape(of: property.type, in: path) else { continue }
            members.append(Member(key: key, shape: shape, place: property.place))
        }
        return object(members, name: path.joined(separator: "."))
    }

    /// A struct around a raw value is decoded as that value, if the value's type belongs to the standard library.
    private mutating func rawStructure(
        _ declaration: Declaration,
        _ properties: StoredProperties,
        _ head: Declaration.Head,
        _ path: TypePath
    ) -> JSONValue? {
        guard properties.decoded.count == 1, let raw = properties.decoded.first, raw.name == "rawValue",
            case .foreign(let name)? = index.target(of: raw.type, in: path),
            BuiltInType.isRawValue(name),
            !declaration.refusesRawValues, let shape = shape(of: raw.type, in: path), !shape.isOptional
        else {
            report(
                "how this RawRepresentable is decoded cannot be known; supply a schema for '\(path.last ?? "")'",
                at: head.place
            )
            return nil
        }
        return shape.schema
    }

    // MARK: Objects

    /// A member of an object.
    struct Member {
        let key: String
        let shape: Shape
        let place: SourcePlace
    }

    /// An object that is decoded by keys. Other keys are ignored, and a missing optional becomes nil.
    mutating func object(_ members: [Member], name: String?) -> JSONValue {
        var properties = JSONObject()
        var required: [JSONValue] = []
        for member in members {
            if properties[member.key] != nil { report("the key '\(member.key)' is there twice", at: member.place) }
            properties[member.key] = member.shape.nullable
            if !member.shape.isOptional { required.append(.string(member.key)) }
        }
        var schema: JSONObject = ["type": "object"]
        if let name { schema["x-swift-type"] = .string(name) }
        if !properties.isEmpty { schema["properties"] = .object(properties) }
        if !required.isEmpty { schema["required"] = .array(required) }
        if let names = KeySpelling.schema(for: properties.keys) { schema["propertyNames"] = names }
        return .object(schema)
    }
}

extension Declaration {
    /// Whether its own initializer may refuse a raw value.
    fileprivate var refusesRawValues: Bool {
        initializer(labelled: "rawValue").map(\.isFailable) ?? false
    }
}

internal import JSON

/// The values that a schema inherits from the schemas around it.
struct SchemaScope {
    /// The base of relative references.
    var base: URIReference
    /// The index of the resource that contains it.
    var resource: Int
    /// The vocabularies of its dialect.
    var vocabularies: Vocabularies
}

extension SchemaCompiler {
    /// The scope inside a schema. It is the outer scope, unless the schema has its own `$id` or names its dialect.
    mutating func enter(
        _ object: JSONObject,
        at place: SchemaPlace,
        from outer: SchemaScope,
        _ id: SchemaNode.ID
    ) throws(SchemaError) -> SchemaScope {
        var scope = outer
        if let value = object["$id"] { try readID(value, at: place, &scope, id) }
        guard let value = object["$schema"] else { return scope }
        guard place.isRoot || object["$id"] != nil else {
            let message = "'$schema' may only stand at the root and beside '$id'."
            throw SchemaError(code: .invalidKeyword, place: place.appending("$schema"), message: message)
        }
        scope.vocabularies = try vocabularies(of: value, at: place.appending("$schema"))
        return scope
    }

    private mutating func readID(
        _ value: JSONValue,
        at place: SchemaPlace,
        _ scope: inout SchemaScope,
        _ id: SchemaNode.ID
    ) throws(SchemaError) {
        let place = place.appending("$id")
        guard let text = value.string else {
            throw SchemaError(code: .invalidKeyword, place: place, message: "'$id' must be a string.")
        }
        let uri = URIReference(text)
        guard uri.fragment == nil || uri.fragment == "" else {
            throw SchemaError(code: .invalidKeyword, place: place, message: "'$id' must have no fragment.")
        }
        scope.base = uri.withoutFragment.resolved(against: scope.base)
        try Self.check(scope.base, at: place)
        let isNew: Bool
        if id == resources.root(of: scope.resource) {
            // The root of a document also keeps the name under which the document was found.
            isNew = resources.addName(scope.base.text, to: scope.resource)
        } else {
            isNew = !resources.isKnown(scope.base.text)
            scope.resource = resources.add(name: scope.base.text, root: id)
        }
        guard isNew else {
            let message = "Another schema has the '$id' '\(scope.base.text)' already."
            throw SchemaError(code: .invalidKeyword, place: place, message: message)
        }
    }

    private func vocabularies(of value: JSONValue, at place: SchemaPlace) throws(SchemaError) -> Vocabularies {
        guard let text = value.string else {
            throw SchemaError(code: .invalidKeyword, place: place, message: "'$schema' must be a string.")
        }
        let uri = URIReference(text)
        let dialect = uri.fragment == "" ? uri.withoutFragment.text : text
        if dialect == MetaSchemas.dialect { return .standard }
        guard let metaSchema = knownDocument(dialect), let vocabularies = Vocabularies(metaSchema: metaSchema) else {
            let message = "Only \(MetaSchemas.dialect) is read here."
            throw SchemaError(code: .unsupportedDialect, place: place, message: message)
        }
        return vocabularies
    }
}

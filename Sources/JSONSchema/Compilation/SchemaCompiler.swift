internal import JSON

/// Compiles a schema document and the documents that it refers to into tables. It reads all schemas, then resolves the
/// references, then checks that every chain of references ends.
struct SchemaCompiler {
    /// The maximum size of all patterns together.
    static let maximumPatternSize = 65_536

    let options: SchemaOptions
    var tables = SchemaTables()
    var resources = SchemaResources()
    /// The size of all patterns so far.
    var patternSize = 0
    /// Every `$ref` and `$dynamicRef` in the order of reading.
    private var references: [SchemaReference] = []
    /// The documents from the options, by name without fragment.
    private let documents: [String: JSONValue]

    init(options: SchemaOptions) {
        self.options = options
        let named = options.documents.map { (URIReference($0.key).withoutFragment.text, $0.value) }
        documents = Dictionary(named, uniquingKeysWith: { first, _ in first })
    }

    /// Compiles a document. The document's own schema is the first row of the tables.
    mutating func compile(_ document: JSONValue) throws(SchemaError) -> SchemaTables {
        try read(document, name: "")
        // Resolving a reference can read another document, which appends its own references.
        var next = 0
        while next < references.count {
            try join(references[next])
            next += 1
        }
        for reference in references { joinDynamically(reference) }
        var check = ProgressCheck(tables: tables)
        try check.run()
        return tables
    }

    /// The document of that URI, if references may lead to it.
    func knownDocument(_ name: String) -> JSONValue? { documents[name] ?? MetaSchemas.document(name) }

    /// Reads a whole document under its name.
    mutating func read(_ document: JSONValue, name: String) throws(SchemaError) {
        let place = SchemaPlace(document: name)
        let size = document.serialized().count
        guard size <= CompiledSchema.maximumSize else {
            let message =
                "The document has \(size) bytes; at most \(CompiledSchema.maximumSize) (256 KB) are read as a schema."
            throw SchemaError(code: .tooLarge, place: place, message: message)
        }
        let scope = SchemaScope(
            base: URIReference(name),
            resource: resources.add(name: name, root: tables.nodes.count),
            vocabularies: .standard
        )
        _ = try compile(document, at: place, in: scope)
    }

    // MARK: Schemas

    /// Reads the schema of a keyword, or one of its schemas, and all schemas inside it.
    mutating func compile(
        _ schema: JSONValue,
        of context: KeywordContext,
        _ token: String? = nil
    ) throws(SchemaError) -> SchemaNode.ID {
        var place = context.place.appending(context.keyword)
        if let token { place = place.appending(token) }
        let id = tables.nodes.count
        resources.setChild(id, of: context.schema, context.keyword, token)
        return try compile(schema, at: place, in: context.scope)
    }

    private mutating func compile(
        _ schema: JSONValue,
        at place: SchemaPlace,
        in outer: SchemaScope
    ) throws(SchemaError) -> SchemaNode.ID {
        let id = tables.nodes.count
        switch schema {
        case .bool(let isAnything):
            let verdict: SchemaNode.Verdict = isAnything ? .anything : .nothing
            append(SchemaNode(verdict: verdict, resource: outer.resource), at: place)
        case .object(let object):
            let scope = try enter(object, at: place, from: outer, id)
            append(SchemaNode(verdict: object.isEmpty ? .anything : .rules, resource: scope.resource), at: place)
            try readKeywords(of: object, at: place, in: scope, id)
        case .null, .number, .string, .array:
            let message = "A schema must be an object, true or false."
            throw SchemaError(code: .notASchema, place: place, message: message)
        }
        return id
    }

    private mutating func append(_ node: SchemaNode, at place: SchemaPlace) {
        tables.nodes.append(node)
        tables.places.append(place)
    }

    private mutating func readKeywords(
        of object: JSONObject,
        at place: SchemaPlace,
        in scope: SchemaScope,
        _ id: SchemaNode.ID
    ) throws(SchemaError) {
        var rules: [SchemaRule] = []
        // Rules that depend on what the other keywords have evaluated run last.
        var lastRules: [SchemaRule] = []
        for (keyword, value) in object.entries {
            let context = KeywordContext(
                keyword: keyword,
                value: value,
                object: object,
                schema: id,
                place: place,
                scope: scope
            )
            guard try context.hasMeaning(options) else { continue }
            switch keyword {
            case "unevaluatedItems": lastRules.append(.unevaluatedItems(try compile(value, of: context)))
            case "unevaluatedProperties": lastRules.append(.unevaluatedProperties(try compile(value, of: context)))
            default: rules += try read(context)
            }
        }
        let start = tables.rules.count
        tables.rules += rules + lastRules
        tables.nodes[id].rules = start..<tables.rules.count
        tables.nodes[id].wantsEvaluated = !lastRules.isEmpty
    }

    /// Reads one keyword and returns its rules; empty if it is an annotation or a sibling handles it.
    private mutating func read(_ context: KeywordContext) throws(SchemaError) -> [SchemaRule] {
        if let rules = try readValueKeyword(context) { return rules }
        if let rules = try readApplicator(context) { return rules }
        switch context.keyword {
        case "$ref":
            tables.references.append(context.schema)
            references.append(SchemaReference(context, text: try context.text(), index: tables.references.count - 1))
            return [.reference(tables.references.count - 1)]
        case "$dynamicRef":
            tables.dynamicReferences.append(DynamicReference(fallback: context.schema, targets: [:]))
            let index = tables.dynamicReferences.count - 1
            references.append(SchemaReference(context, text: try context.text(), index: index))
            return [.dynamicReference(index)]
        default:
            try readStatement(context)
            return []
        }
    }
}

internal import JSON

/// Reads a schema document into a table of nodes: walks over all schemas, then joins the references, then makes sure
/// that every chain of them gets somewhere.
struct SchemaCompiler {
    private let document: JSONValue
    private(set) var nodes: [SchemaNode] = []
    private(set) var places: [JSONPointer: SchemaNode.ID] = [:]
    private(set) var anchors: [String: SchemaNode.ID] = [:]
    private var references: [(from: SchemaNode.ID, text: String)] = []
    private(set) var documentID: String?

    init(_ document: JSONValue) { self.document = document }

    /// The table; the document's own schema comes first.
    mutating func compile() throws(SchemaError) -> [SchemaNode] {
        _ = try compile(document, at: JSONPointer())
        for (origin, text) in references {
            let target = try resolve(text, from: nodes[origin].location)
            guard case .rules(let rules) = nodes[origin].verdict else { continue }
            nodes[origin].verdict = .rules([.reference(target)] + rules)
        }
        var check = ProgressCheck(nodes: nodes)
        try check.run()
        return nodes
    }

    /// Reads the schema at a place, and all inside it.
    mutating func compile(_ schema: JSONValue, at place: JSONPointer) throws(SchemaError) -> SchemaNode.ID {
        let id = nodes.count
        nodes.append(SchemaNode(location: place, verdict: .anything))
        places[place] = id
        switch schema {
        case .bool(true):
            break
        case .bool(false):
            nodes[id].verdict = .nothing
        case .object(let object):
            var rules: [SchemaNode.Rule] = []
            for (keyword, value) in object.entries {
                rules += try read(keyword, value, of: object, id)
            }
            nodes[id].verdict = .rules(rules)
        case .null, .number, .string, .array:
            throw SchemaError(code: .notASchema, pointer: place, message: "A schema must be an object, true or false.")
        }
        return id
    }

    /// Reads one keyword into the rules that it makes, which are none if it says nothing or belongs to a neighbour.
    private mutating func read(
        _ keyword: String,
        _ value: JSONValue,
        of object: JSONObject,
        _ id: SchemaNode.ID
    ) throws(SchemaError) -> [SchemaNode.Rule] {
        let context = KeywordContext(keyword: keyword, value: value, object: object, schema: nodes[id].location)
        if let rules = try SchemaNode.Rule.simple(context) { return rules }
        if let rules = try readApplicator(context) { return rules }
        switch keyword {
        case "$ref":
            references.append((id, try context.text()))
        case "$defs":
            for (name, schema) in try context.members() {
                _ = try compile(schema, at: context.place.appending(name))
            }
        case "$anchor":
            let name = try context.anchor()
            guard anchors.updateValue(id, forKey: name) == nil else {
                throw context.invalid("The anchor '\(name)' is given twice.")
            }
        case "$schema":
            try readDialect(context)
        case "$id":
            try readID(context)
        default:
            try context.checkAnnotation()
        }
        return []
    }

    private func readDialect(_ context: KeywordContext) throws(SchemaError) {
        let dialect = try context.text()
        guard context.isAtRoot else { throw context.invalid("'$schema' may only stand at the root.") }
        guard dialect == Keywords.dialect || dialect == Keywords.dialect + "#" else {
            let message = "Only \(Keywords.dialect) is read here."
            throw SchemaError(code: .unsupportedDialect, pointer: context.place, message: message)
        }
    }

    private mutating func readID(_ context: KeywordContext) throws(SchemaError) {
        let text = try context.text()
        guard context.isAtRoot else {
            let message = "'$id' is supported at the root only; inside, use '$anchor'."
            throw SchemaError(code: .unsupportedKeyword, pointer: context.place, message: message)
        }
        let id = text.hasSuffix("#") ? String(text.dropLast()) : text
        guard !id.utf8.contains(UInt8(ascii: "#")) else { throw context.invalid("'$id' must have no fragment.") }
        documentID = id
    }
}

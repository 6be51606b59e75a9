package import JSON

/// The graph of a document's schemas: which schemas validation reaches from each one, by any keyword or reference.
package struct SchemaSteps: Sendable {
    private let next: [JSONPointer: [JSONPointer]]

    /// The locations of all schemas that apply to values. It omits definitions without a reference to them.
    package var places: some Collection<JSONPointer> { next.keys }

    /// Reads the graph from a compiled document. References into other documents are omitted.
    package init(_ schema: CompiledSchema) {
        let tables = schema.program.tables
        var next: [JSONPointer: [JSONPointer]] = [:]
        let pointers = tables.places.map { $0.document.isEmpty ? $0.pointer : nil }
        var queue: [SchemaNode.ID] = [0]
        var seen: Set<SchemaNode.ID> = [0]
        while let id = queue.popLast() {
            let schemas = tables.appliedInPlace(by: id) + tables.appliedToParts(by: id)
            if let pointer = pointers[id] { next[pointer] = schemas.compactMap { pointers[$0] } }
            queue += schemas.filter { seen.insert($0).inserted }
        }
        self.next = next
    }

    /// The schemas that validation reaches from this location in one step.
    package func from(_ place: JSONPointer) -> [JSONPointer] { next[place] ?? [] }
}

extension SchemaTables {
    /// The schemas that a schema applies to parts of the value: its members, their names, its items.
    fileprivate func appliedToParts(by id: SchemaNode.ID) -> [SchemaNode.ID] {
        var schemas: [SchemaNode.ID] = []
        for rule in rules[nodes[id].rules] {
            switch rule {
            case .prefixItems(let range): schemas += branches[range]
            case .items(let schema, from: _), .unevaluatedItems(let schema),
                .contains(let schema, atLeast: _, atMost: _),
                .unevaluatedProperties(let schema), .propertyNames(let schema):
                schemas.append(schema)
            case .members(let position):
                schemas += knownMembers[members[position].known].map(\.schema)
                schemas += patternMembers[members[position].patterns].map(\.schema)
                if let others = members[position].others { schemas.append(others) }
            default: break
            }
        }
        return schemas
    }
}

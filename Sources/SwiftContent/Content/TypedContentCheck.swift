package import JSON
package import JSONSchema

extension TypedContent {
    /// Checks that every Swift type in a schema is really applied to content, so that none is silently ignored.
    ///
    /// Call it for new schemas only. Stored schemas stay valid.
    ///
    /// - Throws: If the walk does not follow a type, or if the type contradicts the schema beside it.
    package static func check(_ document: JSONValue, _ schema: CompiledSchema) throws(SchemaError) {
        var check = TypedContentCheck(document, SchemaSteps(schema))
        try check.run()
    }
}

/// Compares the paths of validation with the paths that types are followed through.
private struct TypedContentCheck {
    private let steps: SchemaSteps
    private let nodes: [TypedContent.Node]
    private let places: [JSONPointer]
    /// The schemas that name a type or lead to one that does.
    private let typed: Set<JSONPointer>
    private var walk: TypedContentWalk

    init(_ document: JSONValue, _ steps: SchemaSteps) {
        var reader = TypedContentReader(document: document)
        reader.read()
        self.steps = steps
        (nodes, places) = (reader.nodes, reader.places)
        walk = TypedContentWalk(nodes: nodes, namesTypes: true, author: .caller) { _ in nil }
        typed = Self.leadingToTypes(document, steps)
    }

    private static func leadingToTypes(_ document: JSONValue, _ steps: SchemaSteps) -> Set<JSONPointer> {
        var previous: [JSONPointer: [JSONPointer]] = [:]
        for place in steps.places {
            for next in steps.from(place) { previous[next, default: []].append(place) }
        }
        var queue = steps.places.filter { document[$0]?.object?["x-swift-type"]?.string != nil }
        var found = Set(queue)
        while let place = queue.popLast() {
            queue += (previous[place] ?? []).filter { found.insert($0).inserted }
        }
        return found
    }

    mutating func run() throws(SchemaError) {
        for (node, place) in zip(nodes, places) where typed.contains(place) {
            try checkEncoding(node, at: place)
            let followed = Set(node.next.map { places[$0] })
            for next in steps.from(place) where typed.contains(next) && !followed.contains(next) {
                throw unfollowed(next, from: place)
            }
            for alternatives in node.alternatives { try checkAlternatives(alternatives) }
        }
    }

    private func checkEncoding(_ node: TypedContent.Node, at place: JSONPointer) throws(SchemaError) {
        guard let encoding = node.swiftType.flatMap(DateEncoding.init(rawValue:)), let kinds = node.kinds,
            kinds.isDisjoint(with: encoding.kinds)
        else { return }
        throw SchemaError(
            code: .invalidKeyword,
            pointer: place.appending("x-swift-type"),
            message: "'\(encoding.rawValue)' is decoded from a \(encoding.kinds.max() ?? ""); 'type' lets in none."
        )
    }

    private func unfollowed(_ next: JSONPointer, from place: JSONPointer) -> SchemaError {
        let isInside = next.tokens.count > place.tokens.count && next.tokens.starts(with: place.tokens)
        return SchemaError(
            code: .unsupportedKeyword,
            pointer: isInside ? next : place,
            message: "The Swift types \(isInside ? "here" : "at '\(next)'") would not be applied: they are followed "
                + "through 'properties', 'additionalProperties', 'items', 'prefixItems', 'allOf', 'anyOf', 'oneOf' and a "
                + "'$ref' that begins with '#/'. Write the schema so, or leave out 'x-swift-type'."
        )
    }

    /// One value of each JSON type that a Swift type may apply to.
    private static let samples: [JSONValue] = ["", 0, [:], []]

    /// Types apply only if exactly one alternative allows the value.
    private mutating func checkAlternatives(_ alternatives: [Int]) throws(SchemaError) {
        let naming = alternatives.filter { typed.contains(places[$0]) }
        guard !naming.isEmpty else { return }
        for sample in Self.samples {
            let possible = alternatives.filter { walk.hasRoom(for: sample, $0, depth: 0) }
            guard possible.count > 1, let one = possible.first(where: naming.contains) else { continue }
            throw SchemaError(
                code: .unsupportedKeyword,
                pointer: places[one],
                message: "The Swift types here would not be applied: it cannot be told which of the alternatives is "
                    + "meant, because several let in a JSON value of the same type. Say the 'type' of each, or leave out 'x-swift-type'."
            )
        }
    }
}

package import JSON
package import JSONSchema

extension TypedContent {
    /// Makes sure that every Swift type that a schema names is applied wherever the schema is: none is ignored in
    /// silence.
    ///
    /// Only for schemas that come in: what was taken before goes on as it is.
    ///
    /// - Throws: where a type stands behind what is not followed, or contradicts what stands beside it.
    package static func check(_ document: JSONValue, _ schema: CompiledSchema) throws(SchemaError) {
        var check = TypedContentCheck(document, SchemaSteps(schema))
        try check.run()
    }
}

/// Compares where checking leads to with where types are followed to.
private struct TypedContentCheck {
    private let steps: SchemaSteps
    private let nodes: [TypedContent.Node]
    private let places: [JSONPointer]
    /// The schemas that name a type, or lead to one that does.
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

    /// One value of each kind that a type has a say about.
    private static let samples: [JSONValue] = ["", 0, [:], []]

    /// Types are applied where one alternative alone has room for a value.
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

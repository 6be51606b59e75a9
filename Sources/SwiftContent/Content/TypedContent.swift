package import JSON

/// Checks content against the Swift types in a schema (`x-swift-type`), beyond what JSON Schema can express. It covers
/// the encoding of dates, the spelling of numbers, and the order of range bounds. A number without a named type counts
/// as `Int` or `Double` and must fit it.
///
/// It works for schemas from ``ImportedSchemas`` and for any other that names Swift types. It follows types through
/// `properties`, `additionalProperties`, `items`, `prefixItems`, `allOf` and `$ref`. It also follows `anyOf` and
/// `oneOf` if only one alternative allows a value of that JSON type. When a schema is registered, ``check(_:_:)``
/// refuses types in other locations.
package struct TypedContent: Sendable {
    /// Reads an RFC 3339 time; `nil` if the text is not one.
    package typealias TimeReader = @Sendable (String) -> Time?

    /// A point in time.
    package struct Time: Sendable {
        /// Microseconds since 1970-01-01T00:00:00Z.
        package let microseconds: Int64
        /// RFC 3339 in UTC, with or without a fraction.
        package let text: String

        /// A point in time in both forms.
        package init(microseconds: Int64, text: String) {
            self.microseconds = microseconds
            self.text = text
        }
    }

    /// The unit and epoch of numbers that represent times.
    package enum TimeScale: Sendable, Hashable {
        case secondsSince2001, secondsSince1970, millisecondsSince1970
    }

    /// The origin of content.
    package enum Author: Sendable {
        /// A caller. Numbers that most likely use another scale are refused.
        case caller
        /// Content that was settled before. Its numbers are accepted as they are, so settling it again finds nothing
        /// new.
        case settled
    }

    private let nodes: [Node]
    private let namesTypes: Bool
    private let limitsNumbers: Bool
    /// All time scales that the schema names.
    package let timeScales: Set<TimeScale>

    /// Reads a schema. ``CompiledSchema`` must have accepted it before.
    package init(_ schema: JSONValue) {
        var reader = TypedContentReader(document: schema)
        reader.read()
        namesTypes = reader.nodes.contains { $0.swiftType != nil }
        limitsNumbers = reader.nodes.contains { $0.numbers != nil }
        nodes = namesTypes || limitsNumbers ? reader.nodes : []
        timeScales = Set(nodes.compactMap { $0.swiftType.flatMap(DateEncoding.init(rawValue:))?.scale })
    }

    /// Returns the content for the phone, in which RFC 3339 strings are replaced by the encoded dates, and the
    /// problems.
    ///
    /// It does not repeat violations of the schema itself.
    package func settled(
        _ content: JSONValue,
        by author: Author = .caller,
        time: @escaping TimeReader
    ) -> (content: JSONValue, findings: [ContentFinding]) {
        guard !nodes.isEmpty, namesTypes || content.hasUnusualNumber else { return (content, []) }
        func walk(_ author: Author) -> TypedContentWalk {
            TypedContentWalk(nodes: nodes, namesTypes: namesTypes, author: author, time: time)
        }
        var first = walk(author)
        guard let settled = first.settle(content, 0) else { return (content, first.findings) }
        guard limitsNumbers else { return (settled, first.findings) }
        // A string that became a number may exceed other limits at its location.
        var second = walk(.settled)
        _ = second.settle(settled, 0)
        return (settled, first.findings + second.findings.filter { !first.findings.contains($0) })
    }

    /// The facts about Swift types at one location of a schema.
    struct Node: Sendable {
        var swiftType: String?
        var rawType: String?
        /// The allowed JSON types; `nil` for all.
        var kinds: Set<String>?
        var numbers: NumberLimits?
        var properties: [ExactText: Int] = [:]
        var otherProperties: Int?
        var firstItems: [Int] = []
        var otherItems: Int?
        /// Schemas that all apply.
        var parts: [Int] = []
        /// Lists of alternative schemas, one list for each `anyOf` or `oneOf`.
        var alternatives: [[Int]] = []
        /// Whether there is nothing to check here and nothing to follow.
        private(set) var isSilent = false

        /// All nodes that the walk follows from here.
        var next: [Int] {
            Array(properties.values) + firstItems + [otherProperties, otherItems].compactMap(\.self) + parts
                + alternatives.joined()
        }

        /// Call it after all fields are set.
        mutating func close() {
            isSilent = swiftType == nil && rawType == nil && numbers == nil && next.isEmpty
        }
    }
}

/// Reads a schema into nodes. It uses a queue instead of recursion, because chains of references can be as long as the
/// document.
struct TypedContentReader {
    private let document: JSONValue
    /// The nodes, the root first.
    private(set) var nodes: [TypedContent.Node] = []
    /// The location of the node with the same index.
    private(set) var places: [JSONPointer] = []
    private var numbers: [JSONPointer: Int] = [:]

    init(document: JSONValue) { self.document = document }

    /// Reads all nodes that are reachable from the root.
    mutating func read() {
        _ = number(of: JSONPointer())
        var next = 0
        while next < nodes.count {
            if case .object(let object)? = document[places[next]] { nodes[next] = node(object, at: places[next]) }
            next += 1
        }
    }

    /// The index of the node for a location. A new one is read later.
    private mutating func number(of place: JSONPointer) -> Int {
        if let known = numbers[place] { return known }
        let number = nodes.count
        nodes.append(TypedContent.Node())
        places.append(place)
        numbers[place] = number
        return number
    }

    private mutating func node(_ object: JSONObject, at place: JSONPointer) -> TypedContent.Node {
        var node = TypedContent.Node()
        node.swiftType = object["x-swift-type"]?.string
        node.rawType = object["x-swift-raw-type"]?.string
        let kinds = object["type"]?.string.map { [$0] } ?? object["type"]?.array?.compactMap(\.string)
        node.kinds = kinds.map(Set.init)
        for key in object["properties"]?.object?.keys ?? [] {
            node.properties[ExactText(key)] = number(of: place.appending("properties").appending(key))
        }
        node.otherProperties = numberIfPresent("additionalProperties", of: object, at: place)
        node.firstItems = list("prefixItems", of: object, at: place)
        node.otherItems = numberIfPresent("items", of: object, at: place)
        node.parts = list("allOf", of: object, at: place)
        node.alternatives = ["anyOf", "oneOf"].map { list($0, of: object, at: place) }.filter { !$0.isEmpty }
        if let target = object["$ref"]?.string.flatMap(LocalReference.target), document[target] != nil,
            !hasOwnName(place)
        {
            node.parts.append(number(of: target))
        }
        // Other schemas for the same value could set their own bounds.
        if node.parts.isEmpty, node.alternatives.isEmpty {
            node.numbers = NumberLimits(object, kinds: node.kinds ?? [])
        }
        node.close()
        return node
    }

    /// Whether the schema is inside one with its own `$id`. References in it are relative to that `$id`.
    private func hasOwnName(_ place: JSONPointer) -> Bool {
        var around = document
        for token in place.tokens {
            guard let inner = around[JSONPointer(tokens: [token])] else { return false }
            if inner.object?["$id"]?.string != nil { return true }
            around = inner
        }
        return false
    }

    private mutating func numberIfPresent(_ keyword: String, of object: JSONObject, at place: JSONPointer) -> Int? {
        object[keyword] == nil ? nil : number(of: place.appending(keyword))
    }

    private mutating func list(_ keyword: String, of object: JSONObject, at place: JSONPointer) -> [Int] {
        (object[keyword]?.array ?? []).indices.map { number(of: place.appending(keyword).appending(index: $0)) }
    }
}

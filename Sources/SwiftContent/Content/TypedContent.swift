package import JSON

/// What the Swift types in a schema (`x-swift-type`) ask of content beyond what JSON Schema can say: how dates are
/// written, how numbers may be spelled, and that ranges run upwards. A number whose schema names no Swift type is taken for
/// an `Int` or a `Double`, and may not be more than that holds.
///
/// It reads schemas made by ``ImportedSchemas`` and any other that names Swift types. Types are followed through
/// `properties`, `additionalProperties`, `items`, `prefixItems`, `allOf` and `$ref`, and through `anyOf` and `oneOf`
/// where only one alternative has room for a value of that kind. What names types elsewhere is refused where schemas
/// come in, by ``check(_:_:)``.
package struct TypedContent: Sendable {
    /// Reads a time of RFC 3339; nil for what is none.
    package typealias TimeReader = @Sendable (String) -> Time?

    /// A point in time.
    package struct Time: Sendable {
        /// Since 1970-01-01T00:00:00Z.
        package let microseconds: Int64
        /// In RFC 3339, in UTC, with or without a fraction.
        package let text: String

        /// A time in both forms.
        package init(microseconds: Int64, text: String) {
            self.microseconds = microseconds
            self.text = text
        }
    }

    /// What the numbers that stand for times count.
    package enum TimeScale: Sendable, Hashable {
        case secondsSince2001, secondsSince1970, millisecondsSince1970
    }

    /// Who wrote content.
    package enum Author: Sendable {
        /// Numbers that are most likely meant on another scale are refused.
        case caller
        /// It was settled before, so its numbers are taken at their word: settling it again finds nothing new.
        case settled
    }

    private let nodes: [Node]
    private let namesTypes: Bool
    private let limitsNumbers: Bool
    /// All that the schema names.
    package let timeScales: Set<TimeScale>

    /// Reads a schema that ``CompiledSchema`` has accepted.
    package init(_ schema: JSONValue) {
        var reader = TypedContentReader(document: schema)
        reader.read()
        namesTypes = reader.nodes.contains { $0.swiftType != nil }
        limitsNumbers = reader.nodes.contains { $0.numbers != nil }
        nodes = namesTypes || limitsNumbers ? reader.nodes : []
        timeScales = Set(nodes.compactMap { $0.swiftType.flatMap(DateEncoding.init(rawValue:))?.scale })
    }

    /// The content as it goes to the phone, with times in place of texts, and what is wrong with it.
    ///
    /// What is wrong by the schema alone is not repeated here.
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
        // What was a text, and is a number now, may be too much for what else the schema says of its place.
        var second = walk(.settled)
        _ = second.settle(settled, 0)
        return (settled, first.findings + second.findings.filter { !first.findings.contains($0) })
    }

    /// What one place of a schema says of Swift types.
    struct Node: Sendable {
        var swiftType: String?
        var rawType: String?
        /// The JSON types that are let in; nil for all.
        var kinds: Set<String>?
        var numbers: NumberLimits?
        var properties: [ExactText: Int] = [:]
        var otherProperties: Int?
        var firstItems: [Int] = []
        var otherItems: Int?
        /// All of these apply.
        var parts: [Int] = []
        /// One of these applies, in each list.
        var alternatives: [[Int]] = []
        /// Whether nothing is said here, and nothing is followed.
        private(set) var isSilent = false

        /// All that is followed from here.
        var next: [Int] {
            Array(properties.values) + firstItems + [otherProperties, otherItems].compactMap(\.self) + parts
                + alternatives.joined()
        }

        /// When all of it is read.
        mutating func close() {
            isSilent = swiftType == nil && rawType == nil && numbers == nil && next.isEmpty
        }
    }
}

/// Reads a schema into nodes; not by recursion, because references can form chains as long as the document.
struct TypedContentReader {
    private let document: JSONValue
    /// What is read, the root first.
    private(set) var nodes: [TypedContent.Node] = []
    /// Where the node of the same number is described.
    private(set) var places: [JSONPointer] = []
    private var numbers: [JSONPointer: Int] = [:]

    init(document: JSONValue) { self.document = document }

    /// Reads all that is followed from the root on.
    mutating func read() {
        _ = number(of: JSONPointer())
        var next = 0
        while next < nodes.count {
            if case .object(let object)? = document[places[next]] { nodes[next] = node(object, at: places[next]) }
            next += 1
        }
    }

    /// The number of the node for a place, which is read later if it is new.
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
        // What stands beside could say more.
        if node.parts.isEmpty, node.alternatives.isEmpty {
            node.numbers = NumberLimits(object, kinds: node.kinds ?? [])
        }
        node.close()
        return node
    }

    /// Whether a schema is part of one that has a name of its own (`$id`) in the document, which references in it are
    /// meant from.
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

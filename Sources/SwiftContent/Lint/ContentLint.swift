package import JSON

/// Finds content that a phone can decode, but that is probably a mistake.
package struct ContentLint {
    private static let maximumFindings = 100
    private static let maximumSteps = 20_000

    private let schema: JSONValue
    private var findings: [LintFinding] = []
    private var steps = 0

    private init(_ schema: JSONValue) { self.schema = schema }

    /// Findings about content, whether or not the schema accepts it.
    package static func findings(in content: JSONValue, _ schema: JSONValue) -> [LintFinding] {
        var lint = ContentLint(schema)
        lint.look(at: content, JSONPointer(), by: [JSONPointer()])
        return lint.findings
    }

    /// Recursion is safe, because the JSON parser limits the depth of content.
    private mutating func look(at value: JSONValue, _ place: JSONPointer, by schemas: [JSONPointer]) {
        steps += 1
        guard steps <= Self.maximumSteps, findings.count < Self.maximumFindings else { return }
        let rules = Rules(schemas, in: schema)
        switch value {
        case .null:
            report(.nullValue, place, "a null is known to have kept a card from starting; leave the key out")
        case .object(let object):
            for (key, member) in object.entries {
                let next = rules.schemas(ofMember: key)
                if next.isEmpty, rules.isComplete, !rules.keys.isEmpty { report(undeclared: key, place, rules.keys) }
                look(at: member, place.appending(key), by: next)
            }
        case .array(let items):
            for (index, item) in items.enumerated() {
                look(at: item, place.appending(index: index), by: rules.schemas(ofItem: index))
            }
        case .bool, .number, .string: break
        }
    }

    private mutating func report(_ code: LintFinding.Code, _ place: JSONPointer, _ message: String) {
        guard findings.count < Self.maximumFindings else { return }
        findings.append(LintFinding(code: code, pointer: place, message: message))
    }

    private mutating func report(undeclared key: String, _ place: JSONPointer, _ keys: [String]) {
        let wanted = NameWords(key).words.joined()
        let near = keys.first { NameWords($0).words.joined() == wanted }.map { "; is '\($0)' meant?" } ?? ""
        report(
            .undeclaredKey,
            place.appending(key),
            "the schema does not declare '\(key)', so the phone ignores it\(near)"
        )
    }

    /// What the schemas of one location require of members and items.
    private struct Rules {
        private static let maximumPlaces = 64
        /// Keywords that may declare members, but are not followed here.
        private static let branching = [
            "patternProperties", "if", "not", "dependentSchemas", "$dynamicRef", "unevaluatedProperties",
        ]

        private let document: JSONValue
        private var places: [JSONPointer] = []
        /// Whether all declarations of members are known.
        private(set) var isComplete = true
        private(set) var keys: [String] = []

        init(_ schemas: [JSONPointer], in document: JSONValue) {
            self.document = document
            var todo = schemas
            while let place = todo.popLast() {
                guard places.count < Self.maximumPlaces, let schema = document[place]?.object else {
                    isComplete = false
                    continue
                }
                if places.contains(place) { continue }
                places.append(place)
                keys += schema["properties"]?.object?.keys ?? []
                if Self.branching.contains(where: { schema[$0] != nil }) { isComplete = false }
                if let reference = schema["$ref"]?.string {
                    if let target = LocalReference.target(of: reference) {
                        todo.append(target)
                    } else {
                        isComplete = false
                    }
                }
                for keyword in ["allOf", "anyOf", "oneOf"] {
                    for index in (schema[keyword]?.array ?? []).indices {
                        todo.append(place.appending(keyword).appending(index: index))
                    }
                }
            }
        }

        func schemas(ofMember key: String) -> [JSONPointer] {
            let declared = places.map { $0.appending("properties").appending(key) }.filter { document[$0] != nil }
            if !declared.isEmpty { return declared }
            return places.map { $0.appending("additionalProperties") }.filter { document[$0]?.object != nil }
        }

        func schemas(ofItem index: Int) -> [JSONPointer] {
            places.compactMap { place in
                let first = place.appending("prefixItems").appending(index: index)
                if document[first] != nil { return first }
                let items = place.appending("items")
                return document[items]?.object == nil ? nil : items
            }
        }
    }
}

package import JSON

/// Finds parts of a valid schema that will probably fail or surprise later. Each rule says what to do about it.
package struct SchemaLint {
    /// The maximum number of findings about one schema.
    package static let maximumFindings = 100
    /// The limit for attributes and content state together, in bytes; the phone stores both.
    package static let contentBytes = 4096

    /// A location of the document that is still to be checked.
    private struct Visit {
        let place: JSONPointer
        /// The name of the property whose value this describes; `nil` for anything else.
        let name: String?
    }

    let document: JSONValue
    var sizes: LargestSize
    private var findings: [LintFinding] = []
    private var visits: [Visit] = []
    private var seen: Set<JSONPointer> = []

    private init(_ document: JSONValue) {
        self.document = document
        sizes = LargestSize(of: document)
    }

    /// Findings about a compiled schema, in the order of their locations.
    package static func findings(in document: JSONValue) -> [LintFinding] {
        var lint = SchemaLint(document)
        lint.look()
        return lint.findings
    }

    /// The maximum bytes of content that a schema allows; `nil` if there is no bound.
    package static func largestSize(of document: JSONValue) -> Int? {
        var sizes = LargestSize(of: document)
        return sizes.bytes(at: JSONPointer())
    }

    /// A finding if the largest attributes and content state together exceed the limit; `nil` if they fit or one is
    /// unbounded.
    package static func tooLarge(attributes: JSONValue, contentState: JSONValue) -> LintFinding? {
        guard let attributes = largestSize(of: attributes), let contentState = largestSize(of: contentState),
            attributes + contentState > contentBytes
        else { return nil }
        return LintFinding(
            code: .tooLarge,
            pointer: JSONPointer(),
            message:
                "at their largest, attributes have \(attributes) bytes and the content state \(contentState). The phone takes "
                + "\(contentBytes) together, and Tally refuses more. Lower the limits"
        )
    }

    // MARK: The walk

    private mutating func look() {
        visit(JSONPointer())
        lookAtRoot()
        // A queue instead of recursion: chains of references can be as long as the document.
        var next = 0
        while next < visits.count, findings.count < Self.maximumFindings {
            look(at: visits[next])
            next += 1
        }
    }

    mutating func report(_ code: LintFinding.Code, _ place: JSONPointer, _ message: String) {
        guard findings.count < Self.maximumFindings else { return }
        findings.append(LintFinding(code: code, pointer: place, message: message))
    }

    private mutating func visit(_ place: JSONPointer, name: String? = nil) {
        if seen.insert(place).inserted { visits.append(Visit(place: place, name: name)) }
    }

    private mutating func look(at visit: Visit) {
        guard let schema = document[visit.place] else { return }
        if saysNothing(schema) {
            report(
                .unchecked,
                visit.place,
                "nothing is said about this value, so anything reaches the phone; say its type"
            )
        }
        guard case .object(let object) = schema else { return }
        let place = SchemaObject(object, at: visit.place, name: visit.name)
        lookAtObject(place)
        lookAtArray(place)
        lookAtValue(place)
        follow(place)
    }

    private mutating func follow(_ schema: SchemaObject) {
        for key in schema["properties"]?.object?.keys ?? [] {
            visit(schema.place.appending("properties").appending(key), name: key)
        }
        for key in schema["patternProperties"]?.object?.keys ?? [] {
            visit(schema.place.appending("patternProperties").appending(key))
        }
        for keyword in ["items", "additionalProperties"] {
            if case .object? = schema[keyword] { visit(schema.place.appending(keyword)) }
        }
        for keyword in ["prefixItems", "allOf", "anyOf", "oneOf"] {
            for index in (schema[keyword]?.array ?? []).indices {
                visit(
                    schema.place.appending(keyword).appending(index: index),
                    name: keyword == "prefixItems" ? nil : schema.name
                )
            }
        }
        if let target = schema["$ref"]?.string.flatMap(LocalReference.target) { visit(target, name: schema.name) }
    }

    private func saysNothing(_ schema: JSONValue) -> Bool {
        switch schema {
        case .bool(let lets): lets
        case .object(let object):
            !object.keys.contains { !Self.annotations.contains($0) && !$0.hasPrefix("x-") }
        default: false
        }
    }

    private static let annotations: Set<String> = [
        "title", "description", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly", "format",
        "$schema", "$id", "$anchor", "$defs",
    ]
}

/// An object of the schema document, with its location and what it describes.
struct SchemaObject {
    let object: JSONObject
    let place: JSONPointer
    /// The property whose value it describes.
    let name: String?
    /// The JSON types that it names; empty if it names none.
    let types: Set<String>

    init(_ object: JSONObject, at place: JSONPointer, name: String?) {
        self.object = object
        self.place = place
        self.name = name
        types = Set(object["type"]?.string.map { [$0] } ?? object["type"]?.array?.compactMap(\.string) ?? [])
    }

    subscript(keyword: String) -> JSONValue? { object[keyword] }

    var swiftType: String? { object["x-swift-type"]?.string }
    var words: NameWords { NameWords(name ?? "") }
}

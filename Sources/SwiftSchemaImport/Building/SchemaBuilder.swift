internal import JSON
internal import SwiftContent

/// Builds one schema document: the root type, and every other type that it needs under `$defs`.
struct SchemaBuilder {
    /// The maximum number of schemas in one document. Content of 4 KB needs far fewer.
    private static let maximumSchemas = 20_000
    private static let maximumDepth = 64
    private static let tooMuch = "this is more than fits one schema"

    /// A schema, and whether its value may be missing or null.
    struct Shape {
        let schema: JSONValue
        let isOptional: Bool

        /// The schema for locations where a missing value is null.
        var nullable: JSONValue { isOptional ? schema.orNull : schema }
    }

    let index: DeclarationIndex
    let supplied: SuppliedSchemas
    private(set) var problems: [SwiftImportError.Problem] = []
    private var definitions = JSONObject()
    private var schemaCount = 0
    private var depth = 0

    private init(index: DeclarationIndex, supplied: SuppliedSchemas) {
        self.index = index
        self.supplied = supplied
    }

    /// The document for a declared type; `nil` if there are problems.
    static func document(
        for path: TypePath,
        _ index: DeclarationIndex,
        _ supplied: SuppliedSchemas
    ) -> (JSONValue?, [SwiftImportError.Problem]) {
        var builder = SchemaBuilder(index: index, supplied: supplied)
        let root = supplied[path] ?? builder.schema(ofDeclared: path, from: nil)
        guard let root, builder.problems.isEmpty else { return (nil, builder.problems) }
        guard case .object(let object) = root else { return (root, []) }
        var document: JSONObject = ["$schema": "https://json-schema.org/draft/2020-12/schema"]
        for (key, value) in object.entries { document[key] = value }
        if !builder.definitions.isEmpty { document["$defs"] = .object(builder.definitions) }
        return (.object(document), [])
    }

    mutating func report(_ message: String, at place: SourcePlace) {
        let problem = SwiftImportError.Problem(place: place, message: message)
        if problems.count < SwiftImportError.maximumProblems, !problems.contains(problem) { problems.append(problem) }
    }

    mutating func report(_ error: SwiftImportError) {
        for problem in error.problems where !problems.contains(problem) { problems.append(problem) }
    }

    // MARK: Types

    /// The shape of a type as written; `nil` after reporting a problem.
    mutating func shape(of type: TypeExpression, in scope: TypePath) -> Shape? {
        guard depth < Self.maximumDepth, hasRoom(for: 1, at: type.place) else {
            report(Self.tooMuch, at: type.place)
            return nil
        }
        depth += 1
        defer { depth -= 1 }
        switch type.kind {
        case .optional(let wrapped):
            return shape(of: wrapped, in: scope).map { Shape(schema: $0.schema, isOptional: true) }
        case .array(let element):
            return array(of: element, in: scope)
        case .dictionary(let key, let value):
            return dictionary(key, value, in: scope, at: type.place)
        case .named(let components):
            return named(components, type, in: scope)
        case .unsupported(let what):
            report("this is \(what)", at: type.place)
            return nil
        }
    }

    private mutating func named(
        _ components: [TypeExpression.Component],
        _ type: TypeExpression,
        in scope: TypePath
    ) -> Shape? {
        let names = components.map(\.name)
        if let schema = supplied[names] {
            return Shape(schema: reference(to: names.joined(separator: ".")) { _ in schema }, isOptional: false)
        }
        let arguments = components.last?.arguments ?? []
        switch index.meaning(of: components, in: scope) {
        case .declared(let path):
            guard components.allSatisfy({ $0.arguments.isEmpty }) else {
                report("'\(names.joined(separator: "."))' is generic; write a struct for what is sent", at: type.place)
                return nil
            }
            return declared(path, from: type)
        case .alias(let target, let aliasScope):
            guard arguments.isEmpty else {
                report(
                    "'\(names.joined(separator: "."))' is generic; write its full type",
                    at: type.place
                )
                return nil
            }
            return shape(of: target, in: aliasScope)
        case .foreign(let name):
            return foreign(BuiltInType.canonical(name), arguments, type, in: scope)
        }
    }

    /// Whether the type's encoding comes from a supplied schema. Such a schema does not describe the type as a
    /// dictionary key.
    func isSupplied(_ type: TypeExpression, in scope: TypePath) -> Bool {
        var (type, scope) = (type, scope)
        for _ in 0..<Self.maximumDepth {
            guard case .named(let components) = type.kind else { return false }
            if supplied[components.map(\.name)] != nil { return true }
            switch index.meaning(of: components, in: scope) {
            case .alias(let target, let aliasScope): (type, scope) = (target, aliasScope)
            case .declared(let path): return supplied[path] != nil
            case .foreign: return false
            }
        }
        return false
    }

    private mutating func declared(_ path: TypePath, from type: TypeExpression) -> Shape? {
        let name = path.joined(separator: ".")
        if let schema = supplied[path] {
            return Shape(schema: reference(to: name) { _ in schema }, isOptional: false)
        }
        let schema = reference(to: name) { builder in builder.schema(ofDeclared: path, from: type) }
        return Shape(schema: schema, isOptional: false)
    }

    private mutating func foreign(
        _ name: String,
        _ arguments: [TypeExpression],
        _ type: TypeExpression,
        in scope: TypePath
    ) -> Shape? {
        switch (name, arguments.count) {
        case ("Optional", 1):
            return shape(of: arguments[0], in: scope).map { Shape(schema: $0.schema, isOptional: true) }
        case ("Array", 1), ("ContiguousArray", 1), ("ArraySlice", 1), ("Set", 1):
            return array(of: arguments[0], in: scope)
        case ("Dictionary", 2):
            return dictionary(arguments[0], arguments[1], in: scope, at: type.place)
        case ("Range", 1), ("ClosedRange", 1):
            return range(name, arguments[0], bounds: 2, in: scope)
        case ("PartialRangeFrom", 1), ("PartialRangeThrough", 1), ("PartialRangeUpTo", 1):
            return range(name, arguments[0], bounds: 1, in: scope)
        case (_, 0):
            if let schema = BuiltInType.schema(of: name) { return Shape(schema: .object(schema), isOptional: false) }
        default:
            break
        }
        let place = index.uncertain[[name]].map { "; it depends on the #if at \($0)" } ?? ""
        report(
            "what '\(name)' encodes as is not known\(place): give the file that declares it, or supply a schema for '\(name)'",
            at: type.place
        )
        return nil
    }

    // MARK: Definitions

    /// A reference to a definition, which is built first if it is new.
    ///
    /// The name is registered before the build, so that a type may contain itself.
    mutating func reference(to name: String, _ make: (inout SchemaBuilder) -> JSONValue?) -> JSONValue {
        if definitions[name] == nil {
            definitions[name] = true
            if let schema = make(&self) { definitions[name] = schema }
        }
        return ["$ref": .string("#/$defs/" + Self.fragment(name))]
    }

    /// The name of an equal definition, or a new name.
    func definitionName(of schema: JSONValue, or stem: String) -> String {
        definitions.entries.first { $0.value == schema }?.key ?? "\(stem) \(definitions.count + 1)"
    }

    /// Encodes a pointer token for the fragment of a URI.
    private static func fragment(_ token: String) -> String {
        var text = ""
        for byte in token.utf8 {
            switch byte {
            case UInt8(ascii: "~"): text += "~0"
            case UInt8(ascii: "/"): text += "~1"
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return text
    }

    /// Reserves room for schemas that are about to be built together.
    ///
    /// - Returns: Whether there is room for them. If not, a problem is reported.
    mutating func hasRoom(for more: Int, at place: SourcePlace) -> Bool {
        schemaCount += more
        guard schemaCount > Self.maximumSchemas else { return true }
        report(Self.tooMuch, at: place)
        return false
    }
}

extension JSONValue {
    /// This schema, with null allowed.
    fileprivate var orNull: JSONValue {
        guard case .object(var object) = self else { return self }
        if let type = object["type"]?.string {
            object["type"] = [.string(type), "null"]
            if let values = object["enum"]?.array { object["enum"] = .array(values + [.null]) }
            return .object(object)
        }
        var nullable: JSONObject = ["anyOf": [self, ["type": "null"]]]
        // The last token of the reference is the type's name.
        if let name = object["$ref"]?.string?.split(separator: "/").last {
            nullable["x-swift-type"] = .string(name + "?")
        }
        return .object(nullable)
    }
}

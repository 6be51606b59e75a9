import APITypes
import ActivityModel
import JSON
import JSONSchema
import SwiftContent
import SwiftImporter

/// The two schemas of a registration, compiled.
struct TypeSchemas {
    let attributesDocument: JSONValue
    let contentStateDocument: JSONValue
    let attributes: CompiledSchema
    let contentState: CompiledSchema

    /// - Throws: As ``init(attributes:contentState:)``. Also 422 with every place of a Swift source that is not known.
    init(_ source: TypeRequest.Source, of name: ActivityTypeName, _ importer: SwiftImporter) async throws(Problem) {
        let (attributes, contentState) = try await Self.documents(source, of: name, importer)
        try self.init(attributes: attributes, contentState: contentState)
    }

    /// - Throws: 422 with a pointer to every document that is not a schema.
    init(attributes: JSONValue, contentState: JSONValue) throws(Problem) {
        var errors: [FieldError] = []
        let compiledAttributes = Self.compile(attributes, "attributes_schema", &errors)
        let compiledContentState = Self.compile(contentState, "content_state_schema", &errors)
        guard let compiledAttributes, let compiledContentState else { throw .invalidRequest(errors) }
        attributesDocument = attributes
        contentStateDocument = contentState
        self.attributes = compiledAttributes
        self.contentState = compiledContentState
    }

    private static func documents(
        _ source: TypeRequest.Source,
        of name: ActivityTypeName,
        _ importer: SwiftImporter
    ) async throws(Problem) -> (attributes: JSONValue, contentState: JSONValue) {
        switch source {
        case .schemas(let attributes, let contentState):
            return (attributes, contentState)
        case .swift(let text, let supplied):
            let sources = [SwiftSource(name: "swift_source", text: text)]
            let request = ImportRequest(sources, typeName: name.rawValue, supplied: supplied)
            let answer: ImportAnswer
            do { answer = try await importer.answer(to: request) } catch { throw .swiftImport(error) }
            switch answer {
            case .made(let schemas):
                // A literal of the source may have it; a phone may never be sent it.
                guard schemas.attributes.placeOfNUL == nil, schemas.contentState.placeOfNUL == nil else {
                    throw .nul(at: JSONPointer(tokens: ["swift_source"]))
                }
                return (schemas.attributes, schemas.contentState)
            case .refused(let error): throw .invalidRequest(error.problems.map(FieldError.init))
            }
        }
    }

    private static func compile(
        _ document: JSONValue,
        _ field: String,
        _ errors: inout [FieldError]
    ) -> CompiledSchema? {
        do {
            let schema = try CompiledSchema(document)
            try TypedContent.check(document, schema)
            return schema
        } catch {
            let pointer = JSONPointer(tokens: [field]).appending(contentsOf: error.pointer)
            errors.append(FieldError(pointer: pointer, code: FieldError.invalidValue, message: error.message))
            return nil
        }
    }

    /// The versions of a type after these schemas are registered, if nobody else registers any. That adds a version,
    /// changes the oldest app of the newest one, or changes nothing.
    func change(_ versions: inout [TypeContext.Version], minAppVersion: AppVersion?) throws(SchemaError) {
        guard let newest = versions.last else { return }
        if newest.attributesSchema.document == attributesDocument,
            newest.contentStateSchema.document == contentStateDocument
        {
            versions[versions.count - 1].minAppVersion = minAppVersion
            return
        }
        versions.append(
            TypeContext.Version(
                version: newest.version + 1,
                attributesSchema: try ContentSchema(attributesDocument),
                contentStateSchema: try ContentSchema(contentStateDocument),
                minAppVersion: minAppVersion,
                isRetired: false
            )
        )
    }

    /// What is doubtful about them.
    var lint: [SchemaFinding] { SchemaFinding.lint(attributes: attributesDocument, contentState: contentStateDocument) }

    /// Whether a policy fits the schemas: see ``check(_:attributes:contentState:)``.
    ///
    /// - Throws: 422 with the pointer into the policy.
    func check(_ policy: Policy) throws(Problem) {
        try Self.check(policy, attributes: attributesDocument, contentState: contentStateDocument)
    }

    /// The same for documents. The `id_attribute` must be declared, and the `revision_property` must be an integer that
    /// takes every revision.
    static func check(_ policy: Policy, attributes: JSONValue, contentState: JSONValue) throws(Problem) {
        if let name = policy.idAttribute, attributes[JSONPointer(tokens: ["properties", name])] == nil {
            throw .unfit("id_attribute", "the attributes schema does not declare the property '\(name)'")
        }
        guard let name = policy.revisionProperty else { return }
        guard let property = contentState[JSONPointer(tokens: ["properties", name])] else {
            throw .unfit("revision_property", "the schema of the content state does not declare the property '\(name)'")
        }
        let types = property["type"].map { $0.array ?? [$0] }
        guard types?.contains("integer") == true else {
            throw .unfit("revision_property", "the property '\(name)' of the content state is not an integer")
        }
        // A version that refuses the placeholder would refuse every change. A property that refers to other parts of the
        // document cannot be compiled alone, and is judged with each change only.
        let largest = JSONValue.number(JSONNumber(Policy.revisionPlaceholder))
        guard let alone = try? CompiledSchema(property) else { return }
        guard alone.isValid(1), alone.isValid(largest) else {
            throw .unfit(
                "revision_property",
                "the property '\(name)' of the content state must take all numbers from 1 to \(Policy.revisionPlaceholder)"
            )
        }
    }
}

extension Problem {
    /// A key of a policy that does not fit the schemas of its type.
    fileprivate static func unfit(_ key: String, _ message: String) -> Problem {
        .invalidRequest(at: ["policy", key], message)
    }
}

extension FieldError {
    /// The error in a Swift source, or in a schema that was supplied with it.
    fileprivate init(_ problem: SwiftImportError.Problem) {
        let place = problem.place.map { "line \($0.line), column \($0.column): " } ?? ""
        let pointer = problem.supplied.map { JSONPointer(tokens: ["supplied_schemas"]).appending(contentsOf: $0) }
        self.init(
            pointer: pointer ?? JSONPointer(tokens: ["swift_source"]),
            code: FieldError.invalidValue,
            message: place + problem.message
        )
    }
}

extension Problem {
    /// Why there is no answer about a Swift source.
    fileprivate static func swiftImport(_ error: SwiftImporterError) -> Problem {
        switch error.code {
        case .exhausted:
            .invalidRequest(
                at: ["swift_source"],
                "reading it takes more time or memory than is granted; give only the files that declare the type"
            )
        case .busy: .unavailable("Other Swift sources are being read.", retryAfter: 1)
        default:
            .unavailable(
                "Swift sources are read by the program tally-import, which this daemon cannot run (\(error.code)). "
                    + "Put it into the folder of tallyd, or send the schemas."
            )
        }
    }
}

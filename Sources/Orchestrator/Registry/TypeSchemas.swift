import APITypes
import ActivityModel
import JSON
import JSONSchema
import SwiftSchemaImport

/// The two schemas of a registration, compiled.
struct TypeSchemas {
    let attributesDocument: JSONValue
    let contentStateDocument: JSONValue
    let attributes: CompiledSchema
    let contentState: CompiledSchema

    /// - Throws: 422 with a pointer to every document that is not a schema, or with every place of a Swift source that cannot
    ///   be known.
    init(_ source: TypeRequest.Source, of name: ActivityTypeName) throws(Problem) {
        let (attributes, contentState) = try Self.documents(source, of: name)
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
        of name: ActivityTypeName
    ) throws(Problem) -> (attributes: JSONValue, contentState: JSONValue) {
        switch source {
        case .schemas(let attributes, let contentState):
            return (attributes, contentState)
        case .swift(let text):
            do {
                let sources = [SwiftSource(name: "swift_source", text: text)]
                let imported = try ImportedSchemas(sources, typeName: name.rawValue)
                return (imported.attributes, imported.contentState)
            } catch {
                throw .invalidRequest(
                    error.problems.map { problem in
                        let place = problem.place.map { "line \($0.line), column \($0.column): " } ?? ""
                        return FieldError(
                            pointer: JSONPointer(tokens: ["swift_source"]),
                            code: FieldError.invalidValue,
                            message: place + problem.message
                        )
                    }
                )
            }
        }
    }

    private static func compile(
        _ document: JSONValue,
        _ field: String,
        _ errors: inout [FieldError]
    ) -> CompiledSchema? {
        do {
            return try CompiledSchema(document)
        } catch {
            errors.append(
                FieldError(
                    pointer: JSONPointer(tokens: [field]).appending(contentsOf: error.pointer),
                    code: FieldError.invalidValue,
                    message: error.message
                )
            )
            return nil
        }
    }

    /// Whether a policy fits the schemas: its `id_attribute` must be declared.
    ///
    /// - Throws: 422 with the pointer into the policy.
    func check(_ policy: Policy) throws(Problem) {
        guard let name = policy.idAttribute else { return }
        guard attributesDocument[JSONPointer(tokens: ["properties", name])] == nil else { return }
        throw .invalidRequest(
            pointer: JSONPointer(tokens: ["policy", "id_attribute"]),
            code: FieldError.invalidValue,
            message: "the attributes schema does not declare the property '\(name)'"
        )
    }
}

import APITypes
import ActivityModel
import JSON
import JSONSchema

/// The two schemas of a registration, compiled.
struct TypeSchemas {
    let attributesDocument: JSONValue
    let contentStateDocument: JSONValue
    let attributes: CompiledSchema
    let contentState: CompiledSchema

    /// - Throws: 422 with a pointer to every document that is not a schema.
    init(_ source: TypeRequest.Source) throws(Problem) {
        guard case .schemas(let attributes, let contentState) = source else {
            throw .invalidRequest(
                pointer: JSONPointer(tokens: ["swift_source"]),
                code: FieldError.invalidValue,
                message: "this version takes schemas only: 'attributes_schema' and 'content_state_schema'"
            )
        }
        var errors: [FieldError] = []
        let compiledAttributes = Self.compile(attributes, "attributes_schema", &errors)
        let compiledContentState = Self.compile(contentState, "content_state_schema", &errors)
        guard let compiledAttributes, let compiledContentState else { throw .invalidRequest(errors) }
        attributesDocument = attributes
        contentStateDocument = contentState
        self.attributes = compiledAttributes
        self.contentState = compiledContentState
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

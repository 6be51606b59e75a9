package import APITypes
package import ActivityModel
import JSON

extension Orchestrator {
    /// The most bytes that attributes and content state may have together, which is what the phone holds.
    static let maximumContentBytes = 4096

    /// Judges content without sending it, by the newest version of the type.
    ///
    /// - Throws: 404 for an unknown type.
    package func validate(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ request: ValidationRequest
    ) async throws -> ValidationAnswer {
        let context: TypeContext
        do {
            context = try await typeContext(app, name)
        } catch let problem as Problem where problem.code == "unknown_type" {
            // Here the type is what the path names.
            throw Problem.notFound("the activity type")
        }
        let version = context.newest
        var errors: [FieldError] = []
        let attributes = request.attributes.map { attributes in
            Self.settle(attributes, version.attributesSchema, version.version, in: "attributes", &errors)
        }
        let contentState = request.contentState.map { contentState in
            Self.settle(contentState, version.contentStateSchema, version.version, in: "content_state", &errors)
        }
        let sizes = (attributes.map { CompactJSON($0).count }, contentState.map { CompactJSON($0).count })
        let together = (sizes.0 ?? 0) + (sizes.1 ?? 0)
        if together > Self.maximumContentBytes {
            errors.append(
                FieldError(
                    pointer: JSONPointer(),
                    code: "payload_too_large",
                    message: "\(together) bytes together, at most \(Self.maximumContentBytes) fit"
                )
            )
        }
        return ValidationAnswer(
            valid: errors.isEmpty,
            errors: errors,
            bytes: .init(attributes: sizes.0, contentState: sizes.1, together: together),
            lint: Self.lint(attributes, version.attributesSchema, .attributes)
                + Self.lint(contentState, version.contentStateSchema, .contentState)
        )
    }

    private static func lint(_ content: JSONValue?, _ schema: ContentSchema, _ part: SchemaPart) -> [SchemaFinding] {
        guard let content else { return [] }
        return schema.lint(content).map { SchemaFinding($0, in: part) }
    }

    /// Content as it would go to the phone; what is wrong with it is added to the errors, with the field before its place.
    private static func settle(
        _ content: JSONObject,
        _ schema: ContentSchema,
        _ version: Int,
        in field: String,
        _ errors: inout [FieldError]
    ) -> JSONValue {
        let (settled, found) = schema.settle(.object(content), version: version)
        errors += found.map { error in
            var error = error
            error.pointer = JSONPointer(tokens: [field]).appending(contentsOf: error.pointer)
            return error
        }
        return settled
    }
}

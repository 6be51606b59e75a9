package import APITypes
package import ActivityModel
import JSON

extension Registry {
    /// The most bytes that attributes and content state may have together, which is what the phone holds.
    static let maximumContentBytes = 4096

    /// Judges content without sending it, by every version of the type that phones may decode and nobody has retired.
    ///
    /// - Throws: 404 for an unknown type; 422 `payload_too_large` for content that is too long to judge.
    package func validate(
        _ app: BundleID,
        _ name: ActivityTypeName,
        _ request: ValidationRequest
    ) async throws -> ValidationAnswer {
        let context: TypeContext
        do {
            context = try await typeContext(app, name)
        } catch let problem as Problem where problem.code == Problem.Code.unknownType {
            // Here the type is what the path names.
            throw Problem.notFound("the activity type")
        }
        var errors: [FieldError] = []
        let attributes = try request.attributes.map { try Self.settle($0, as: .attributes, context, &errors) }
        let contentState = try request.contentState.map { try Self.settle($0, as: .contentState, context, &errors) }
        let sizes = (attributes.map { CompactJSON($0).count }, contentState.map { CompactJSON($0).count })
        let together = (sizes.0 ?? 0) + (sizes.1 ?? 0)
        if together > Self.maximumContentBytes {
            let message = "\(together) bytes together, at most \(Self.maximumContentBytes) fit"
            errors.append(FieldError(pointer: JSONPointer(), code: FieldError.payloadTooLarge, message: message))
        }
        return ValidationAnswer(
            valid: errors.isEmpty,
            errors: errors,
            bytes: .init(attributes: sizes.0, contentState: sizes.1, together: together),
            lint: Self.lint(attributes, as: .attributes, context) + Self.lint(contentState, as: .contentState, context)
        )
    }

    /// By the newest version.
    private static func lint(_ content: JSONValue?, as part: SchemaPart, _ type: TypeContext) -> [SchemaFinding] {
        guard let content, let schema = type.schema(part, version: type.versions.newest) else { return [] }
        return schema.lint(content).map { SchemaFinding($0, in: part) }
    }

    /// Content as it would go to the phone; what is wrong with it is added to the errors, with the field before its
    /// place.
    private static func settle(
        _ content: JSONObject,
        as part: SchemaPart,
        _ type: TypeContext,
        _ errors: inout [FieldError]
    ) throws(Problem) -> JSONValue {
        let judged = try JudgedContent(content, as: part, by: type)
        do {
            return try judged.settled(for: Set(type.versions.current)).content
        } catch {
            errors += error.errors.map { error in
                var error = error
                error.pointer = JSONPointer(tokens: [part.rawValue]).appending(contentsOf: error.pointer)
                return error
            }
            return error.content
        }
    }
}

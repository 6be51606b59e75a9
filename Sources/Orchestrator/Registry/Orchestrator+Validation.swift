package import APITypes
package import ActivityModel
import JSON
import JSONSchema

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
        let attributes = request.attributes.map { JSONValue.object($0) }
        let contentState = request.contentState.map { JSONValue.object($0) }
        var errors: [FieldError] = []
        let version = context.newest
        if let attributes {
            errors += Self.errors(version.attributesSchema.validate(attributes), in: "attributes", version.version)
        }
        if let contentState {
            errors += Self.errors(
                version.contentStateSchema.validate(contentState),
                in: "content_state",
                version.version
            )
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
            bytes: .init(attributes: sizes.0, contentState: sizes.1, together: together)
        )
    }

    private static func errors(_ violations: [Violation], in field: String, _ version: Int) -> [FieldError] {
        violations.map { violation in
            FieldError(
                pointer: JSONPointer(tokens: [field]).appending(contentsOf: violation.instance),
                code: violation.keyword,
                message: violation.message,
                schemaVersion: version
            )
        }
    }
}

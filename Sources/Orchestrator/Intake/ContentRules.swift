import APITypes
import ActivityModel
import JSON
import JSONSchema

extension BodySizes {
    /// - Throws: 422 `payload_too_large` naming the first limit that is broken.
    func check() throws(Problem) {
        guard let excess else { return }
        let what =
            switch excess.limit {
            case .device, .call: "The largest push to a device"
            case .broadcast: "The largest push to the channel"
            case .stored: "Attributes and content state together, which the phone holds,"
            }
        throw .payloadTooLarge(
            bytes: excess.bytes,
            limit: excess.limit.bytes,
            detail: "\(what) would have \(excess.bytes) bytes; Apple's limit is \(excess.limit.bytes)."
        )
    }
}

extension TypeContext {
    /// - Throws: 422 `invalid_content_state` with a pointer for each thing that the phone could not decode.
    func checkContentState(_ contentState: JSONValue) throws(Problem) {
        let errors = Self.errors(of: newest.contentStateSchema.validate(contentState), version: newest.version)
        if !errors.isEmpty { throw .invalidContentState(errors) }
    }

    /// - Throws: 422 `invalid_attributes`.
    func checkAttributes(_ attributes: JSONValue) throws(Problem) {
        let errors = Self.errors(of: newest.attributesSchema.validate(attributes), version: newest.version)
        if !errors.isEmpty { throw .invalidAttributes(errors) }
    }

    private static func errors(of violations: [Violation], version: Int) -> [FieldError] {
        violations.map {
            FieldError(pointer: $0.instance, code: $0.keyword, message: $0.message, schemaVersion: version)
        }
    }
}

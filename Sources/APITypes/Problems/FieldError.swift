import ActivityModel
package import JSON

/// One thing that is wrong with a request, at one place in its body.
package struct FieldError: Sendable, Hashable {
    /// Where in the body, or in the document that the problem names (a content state, a schema).
    package var pointer: JSONPointer
    /// Stable word for programs: one of the constants below, or the keyword of a JSON schema.
    package var code: String
    /// A sentence for people. It may quote the caller's own input, so it goes to the caller and not to a log.
    package var message: String
    /// The version of the activity type that was not satisfied, where several are in use.
    package var schemaVersion: Int?

    package init(pointer: JSONPointer, code: String, message: String, schemaVersion: Int? = nil) {
        self.pointer = pointer
        self.code = code
        self.message = message
        self.schemaVersion = schemaVersion
    }

    /// The field is not one that this request knows.
    package static let unknownField = InvalidFields.Issue.Code.unknownField.rawValue
    /// A field that must be there is not.
    package static let missing = InvalidFields.Issue.Code.missing.rawValue
    /// The value is of another JSON type.
    package static let wrongType = InvalidFields.Issue.Code.wrongType.rawValue
    /// A number, a length or a time that is too small or too large.
    package static let outOfRange = InvalidFields.Issue.Code.outOfRange.rawValue
    /// The type is right, the value is not: an identifier, a token, a time, a word that is not on the list.
    package static let invalidValue = InvalidFields.Issue.Code.invalidValue.rawValue
    /// Two fields that exclude each other.
    package static let conflict = "conflict"
    /// Attributes and content state that are too large together.
    package static let payloadTooLarge = "payload_too_large"
    /// Content that several versions of a type decode, each in another form.
    package static let conflictingVersions = "conflicting_versions"

    /// The most errors that one answer tells; who reads a request looks for no more when there is one more than that.
    package static let maximumCount = 100
    /// The most errors that the result of one operation of a batch tells.
    static let maximumCountInBatch = 10
    /// The most bytes of pointers and messages that one answer tells: both may quote the caller.
    private static let maximumBytes = 65_536

    /// So many of the first errors as one answer tells, at least one of several.
    static func told(_ errors: [FieldError], atMost count: Int = maximumCount) -> [FieldError] {
        var bytes = 0
        let isTold: (FieldError) -> Bool = { error in
            bytes += error.pointer.description.utf8.count + error.message.utf8.count
            return bytes <= maximumBytes
        }
        return errors.first.map { [$0] + errors.prefix(count).dropFirst().prefix(while: isTold) } ?? []
    }
}

extension FieldError: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let pointer = reader.required("pointer", .pointer)
        let code = reader.required("code", .string)
        let message = reader.required("message", .string)
        let schemaVersion = reader.optional("schema_version", .int)
        guard reader.finish(), let pointer, let code, let message else { return nil }
        self.init(pointer: pointer, code: code, message: message, schemaVersion: schemaVersion)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("pointer", pointer.description)
        fields.add("code", code)
        fields.add("message", message)
        fields.add("schema_version", schemaVersion)
        return fields.json
    }
}

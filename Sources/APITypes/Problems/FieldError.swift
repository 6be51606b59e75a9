package import JSON

/// One error in a request, at one position in its body.
package struct FieldError: Sendable, Hashable {
    /// The position in the body, or in the document that the problem names (a content state, a schema).
    package var pointer: JSONPointer
    /// A stable word for programs: one of the constants below, or a JSON Schema keyword.
    package var code: String
    /// A sentence for people. It may quote the caller's input, so it is answered and never logged.
    package var message: String
    /// The activity type's version that rejects the content, if several versions are in use.
    package var schemaVersion: Int?

    package init(pointer: JSONPointer, code: String, message: String, schemaVersion: Int? = nil) {
        self.pointer = pointer
        self.code = code
        self.message = message
        self.schemaVersion = schemaVersion
    }

    /// This request has no such field.
    package static let unknownField = "unknown_field"
    /// A required field is absent.
    package static let missing = "missing"
    /// The value has the wrong JSON type.
    package static let wrongType = "wrong_type"
    /// A number, length or time is too small or too large.
    package static let outOfRange = "out_of_range"
    /// The type is right but the value is invalid: an identifier, a token, a time, or a word outside its list.
    package static let invalidValue = "invalid_value"
    /// Two fields exclude each other.
    package static let conflict = "conflict"
    /// Attributes and content state together are too large.
    package static let payloadTooLarge = "payload_too_large"
    /// Several versions of the type accept the content, but each decodes it from a different JSON form.
    package static let conflictingVersions = "conflicting_versions"
    // Content that breaks its schema has the keyword that failed, or `too_much_work` (`Violation.tooMuchWork`).

    /// The most errors in one answer. A reader stops once it has found more than this.
    package static let maximumCount = 100
    /// The most errors in the result of one batch operation.
    static let maximumCountInBatch = 10
    /// The most bytes of pointers and messages in one answer, because both may quote the caller.
    private static let maximumBytes = 65_536

    /// The first errors that fit in one answer: at most `count`, and at least one if there are any.
    static func told(_ errors: [FieldError], atMost count: Int = maximumCount) -> [FieldError] {
        var bytes = 0
        let isTold: (FieldError) -> Bool = { error in
            bytes += error.pointer.description.utf8.count + error.message.utf8.count
            return bytes <= maximumBytes
        }
        return errors.first.map { [$0] + errors.prefix(count).dropFirst().prefix(while: isTold) } ?? []
    }
}

extension FieldError: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("pointer", \.pointer, .pointer),
        .required("code", \.code, .string),
        .required("message", \.message, .string),
        .optional("schema_version", \.schemaVersion, .int),
        make: Self.init
    )
}

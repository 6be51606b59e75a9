package import JSON

/// `POST /v1/apps/{b}/types/{type}/validate`: checks content without sending it.
package struct ValidationRequest: Sendable, Hashable {
    package var attributes: JSONObject?
    package var contentState: JSONObject?

    package init(attributes: JSONObject? = nil, contentState: JSONObject? = nil) {
        self.attributes = attributes
        self.contentState = contentState
    }
}

extension ValidationRequest: APIRequest, APIObject {
    package static let fields = FieldTable({ Self() }) {
        optional("attributes", .object, \.attributes)
        optional("content_state", .object, \.contentState)
        check { reader in
            if !reader.has("attributes"), !reader.has("content_state") {
                reader.refuse(code: FieldError.missing, message: "'attributes' or 'content_state' is required.")
            }
        }
    }
}

/// The result of checking content.
package struct ValidationAnswer: Sendable, Hashable {
    /// Sizes in bytes as the phone receives them. The total must stay within Apple's 4096.
    package struct Bytes: Sendable, Hashable {
        package var attributes: Int?
        package var contentState: Int?
        package var together: Int

        package init(attributes: Int? = nil, contentState: Int? = nil, together: Int) {
            self.attributes = attributes
            self.contentState = contentState
            self.together = together
        }
    }

    /// Whether every version in use accepts the content and it fits.
    package var valid: Bool
    /// The first errors. Pointers start with `/attributes` or `/content_state`.
    package var errors: [FieldError]
    package var bytes: Bytes
    package var lint: [SchemaFinding]

    package init(valid: Bool, errors: [FieldError], bytes: Bytes, lint: [SchemaFinding] = []) {
        self.valid = valid
        self.errors = FieldError.told(errors)
        self.bytes = bytes
        self.lint = lint
    }
}

extension ValidationAnswer: APIAnswer, APIObject {
    package static let fields = FieldTable({ Self(valid: $0, errors: $1, bytes: $2) }) {
        required("valid", .bool, \.valid)
        required("errors", .list(of: .object(FieldError.self)), \.errors)
        required("bytes", .object(Bytes.self), \.bytes)
        defaulted("lint", .list(of: .object(SchemaFinding.self)), \.lint)
    }
}

extension ValidationAnswer.Bytes: APIAnswer, APIObject {
    package static let fields = FieldTable({ Self(together: $0) }) {
        optional("attributes", .int, \.attributes)
        optional("content_state", .int, \.contentState)
        required("together", .int, \.together)
    }
}

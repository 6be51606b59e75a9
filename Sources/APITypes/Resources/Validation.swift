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

extension ValidationRequest: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .optional("attributes", \.attributes, .object),
        .optional("content_state", \.contentState, .object),
        rule: { reader in
            guard !reader.has("attributes"), !reader.has("content_state") else { return }
            reader.refuse(code: FieldError.missing, message: "'attributes' or 'content_state' is required.")
        },
        make: Self.init
    )
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

extension ValidationAnswer: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("valid", \.valid, .bool),
        .required("errors", \.errors, .list(of: .object(FieldError.self))),
        .required("bytes", \.bytes, .object(Bytes.self)),
        .optional("lint", \.lint, .list(of: .object(SchemaFinding.self)), else: []),
        make: Self.init
    )
}

extension ValidationAnswer.Bytes: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .optional("attributes", \.attributes, .int),
        .optional("content_state", \.contentState, .int),
        .required("together", \.together, .int),
        make: Self.init
    )
}

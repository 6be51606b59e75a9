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

extension ValidationRequest: APIRequest {
    package init?(reader: inout ObjectReader) {
        let attributes = reader.optional("attributes", .object)
        let contentState = reader.optional("content_state", .object)
        if !reader.has("attributes"), !reader.has("content_state") {
            reader.refuse(code: FieldError.missing, message: "'attributes' or 'content_state' is required.")
        }
        guard reader.finish() else { return nil }
        self.init(attributes: attributes, contentState: contentState)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("attributes", attributes)
        fields.add("content_state", contentState)
        return fields.json
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

extension ValidationAnswer: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let valid = reader.required("valid", .bool)
        let errors = reader.required("errors", .list(of: .object(FieldError.self)))
        let bytes = reader.required("bytes", .object(Bytes.self))
        let lint = reader.optional("lint", .list(of: .object(SchemaFinding.self)))
        guard reader.finish(), let valid, let errors, let bytes else { return nil }
        self.init(valid: valid, errors: errors, bytes: bytes, lint: lint ?? [])
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("valid", valid)
        fields.add("errors", errors)
        fields.add("bytes", bytes)
        fields.add("lint", lint)
        return fields.json
    }
}

extension ValidationAnswer.Bytes: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let attributes = reader.optional("attributes", .int)
        let contentState = reader.optional("content_state", .int)
        let together = reader.required("together", .int)
        guard reader.finish(), let together else { return nil }
        self.init(attributes: attributes, contentState: contentState, together: together)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("attributes", attributes)
        fields.add("content_state", contentState)
        fields.add("together", together)
        return fields.json
    }
}

package import ActivityModel
package import JSON

/// `PUT /v1/apps/{b}/types/{type}`: registers an activity type, or a new version of it.
package struct TypeRequest: Sendable, Hashable {
    /// The origin of the two schemas.
    package enum Source: Sendable, Hashable {
        /// JSON Schema documents, which are objects or booleans.
        case schemas(attributes: JSONValue, contentState: JSONValue)
        /// A Swift file that declares the `ActivityAttributes` struct, with JSON Schemas for type names that the file
        /// does not explain.
        case swift(String, supplied: [String: JSONValue] = [:])
    }

    package var source: Source
    /// Nil keeps the stored policy. A new type gets the defaults.
    package var policy: Policy?
    /// The oldest app version that understands these schemas; nil: every version does.
    package var minAppVersion: AppVersion?

    package init(source: Source, policy: Policy? = nil, minAppVersion: AppVersion? = nil) {
        self.source = source
        self.policy = policy
        self.minAppVersion = minAppVersion
    }
}

extension TypeRequest: APIRequest {
    package init?(reader: inout ObjectReader) {
        let swift = reader.optional("swift_source", .string)
        let source: Source?
        if reader.has("swift_source") {
            for key in ["attributes_schema", "content_state_schema"] where reader.has(key) {
                reader.refuse(key, code: FieldError.conflict, message: "'swift_source' takes the place of '\(key)'.")
            }
            let supplied = reader.optional("supplied_schemas", .schemas) ?? [:]
            source = swift.map { .swift($0, supplied: supplied) }
        } else {
            if reader.has("supplied_schemas") {
                let message = "'supplied_schemas' goes with 'swift_source'."
                reader.refuse("supplied_schemas", code: FieldError.conflict, message: message)
            }
            let attributes = reader.required("attributes_schema", .schema)
            let contentState = reader.required("content_state_schema", .schema)
            source =
                if let attributes, let contentState {
                    .schemas(attributes: attributes, contentState: contentState)
                } else { nil }
        }
        let policy = reader.optional("policy", .object(Policy.self))
        let minAppVersion = reader.optional("min_app_version", .appVersion)
        guard reader.finish(), let source else { return nil }
        self.init(source: source, policy: policy, minAppVersion: minAppVersion)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        switch source {
        case .schemas(let attributes, let contentState):
            fields.add("attributes_schema", attributes)
            fields.add("content_state_schema", contentState)
        case .swift(let text, let supplied):
            fields.add("swift_source", text)
            if !supplied.isEmpty {
                fields.add(
                    "supplied_schemas",
                    JSONObject(supplied.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
                )
            }
        }
        fields.add("policy", policy)
        fields.add("min_app_version", minAppVersion?.description)
        return fields.json
    }
}

/// One of a type's two schemas.
package enum SchemaPart: String, Sendable, Hashable, CaseIterable {
    case attributes
    case contentState = "content_state"
}

/// Something found in a schema: a hint (`lint`) or a difference from an earlier version (`compatibility`).
package struct SchemaFinding: Sendable, Hashable {
    /// How much a difference matters.
    package enum Severity: String, Sendable, Hashable, CaseIterable {
        /// Harms activities that run now: their content would be refused, withheld from phones, or sent to apps that
        /// cannot decode it. Or current phones cannot decode content that uses the change, so Tally would refuse it.
        case breaking
        /// Harms nothing that runs now, as far as Tally knows.
        case warning
    }

    package var part: SchemaPart
    /// A pointer into the schema document or, for a hint about content, into the content.
    package var pointer: JSONPointer
    /// A stable word for programs.
    package var code: String
    package var message: String
    /// Nil for hints.
    package var severity: Severity?
    /// The earlier version that differs. Nil for hints, and for findings about running activities.
    package var schemaVersion: Int?

    package init(
        part: SchemaPart,
        pointer: JSONPointer,
        code: String,
        message: String,
        severity: Severity? = nil,
        schemaVersion: Int? = nil
    ) {
        self.severity = severity
        self.schemaVersion = schemaVersion
        self.part = part
        self.pointer = pointer
        self.code = code
        self.message = message
    }
}

extension SchemaFinding: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("schema", \.part, .word(SchemaPart.self)),
        .required("pointer", \.pointer, .pointer),
        .required("code", \.code, .string),
        .required("message", \.message, .string),
        .optional("severity", \.severity, .word(Severity.self)),
        .optional("schema_version", \.schemaVersion, .int),
        make: Self.init
    )
}

/// Whether this version can replace the earlier one while activities run.
package struct SchemaCompatibility: Sendable, Hashable {
    package var compatible: Bool
    /// The differences from the versions that phones decode now, and which of them break something.
    package var findings: [SchemaFinding]

    package init(compatible: Bool, findings: [SchemaFinding] = []) {
        self.compatible = compatible
        self.findings = findings
    }
}

extension SchemaCompatibility: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("compatible", \.compatible, .bool),
        .optional("findings", \.findings, .list(of: .object(SchemaFinding.self)), else: []),
        make: Self.init
    )
}

/// The answer to a registration of a type.
package struct TypeRegistration: Sendable, Hashable {
    /// Numbers a type's pairs of schemas, starting at 1.
    package var version: Int
    /// Whether this request created the version, or changed the policy or the oldest app version.
    package var changed: Bool
    package var lint: [SchemaFinding]
    package var compatibility: SchemaCompatibility

    package init(version: Int, changed: Bool, lint: [SchemaFinding], compatibility: SchemaCompatibility) {
        self.version = version
        self.changed = changed
        self.lint = lint
        self.compatibility = compatibility
    }
}

extension TypeRegistration: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("version", \.version, .int),
        .required("changed", \.changed, .bool),
        .optional("lint", \.lint, .list(of: .object(SchemaFinding.self)), else: []),
        .required("compatibility", \.compatibility, .object(SchemaCompatibility.self)),
        make: Self.init
    )
}

/// An activity type with its newest version.
package struct TypeResource: Sendable, Hashable {
    package var name: ActivityTypeName
    package var version: Int
    package var attributesSchema: JSONValue
    package var contentStateSchema: JSONValue
    package var policy: Policy
    package var minAppVersion: AppVersion?
    package var createdAt: Instant
    package var updatedAt: Instant

    package init(
        name: ActivityTypeName,
        version: Int,
        attributesSchema: JSONValue,
        contentStateSchema: JSONValue,
        policy: Policy,
        minAppVersion: AppVersion? = nil,
        createdAt: Instant,
        updatedAt: Instant
    ) {
        self.name = name
        self.version = version
        self.attributesSchema = attributesSchema
        self.contentStateSchema = contentStateSchema
        self.policy = policy
        self.minAppVersion = minAppVersion
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}

extension TypeResource: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("name", \.name, .typeName),
        .required("version", \.version, .int),
        .required("attributes_schema", \.attributesSchema, .schema),
        .required("content_state_schema", \.contentStateSchema, .schema),
        .required("policy", \.policy, .object(Policy.self)),
        .optional("min_app_version", \.minAppVersion, .appVersion),
        .required("created_at", \.createdAt, .time),
        .required("updated_at", \.updatedAt, .time),
        make: Self.init
    )
}

/// One version of a type's schemas.
package struct TypeVersionResource: Sendable, Hashable {
    package var version: Int
    package var attributesSchema: JSONValue
    package var contentStateSchema: JSONValue
    package var minAppVersion: AppVersion?
    package var createdAt: Instant
    /// When the version was retired. Nil while content must still match it.
    package var retiredAt: Instant?

    package init(
        version: Int,
        attributesSchema: JSONValue,
        contentStateSchema: JSONValue,
        minAppVersion: AppVersion? = nil,
        createdAt: Instant,
        retiredAt: Instant? = nil
    ) {
        self.retiredAt = retiredAt
        self.version = version
        self.attributesSchema = attributesSchema
        self.contentStateSchema = contentStateSchema
        self.minAppVersion = minAppVersion
        self.createdAt = createdAt
    }
}

extension TypeVersionResource: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("version", \.version, .int),
        .required("attributes_schema", \.attributesSchema, .schema),
        .required("content_state_schema", \.contentStateSchema, .schema),
        .optional("min_app_version", \.minAppVersion, .appVersion),
        .required("created_at", \.createdAt, .time),
        .optional("retired_at", \.retiredAt, .time),
        make: Self.init
    )
}

/// `PUT /v1/apps/{b}/types/{type}/versions/{version}`: an operator's decision about a version.
package struct TypeVersionRequest: Sendable, Hashable {
    /// Whether content may break phones that decode only this version or older ones. Content that they cannot decode is
    /// then withheld from them instead of being refused for all phones.
    package var retired: Bool

    package init(retired: Bool) { self.retired = retired }
}

extension TypeVersionRequest: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .required("retired", \.retired, .bool),
        make: Self.init
    )
}

extension FieldType where Value == JSONValue {
    /// A schema document. The schema compiler checks later whether it is valid.
    static var schema: Self {
        of("A JSON Schema (an object, true or false)") { value in
            switch value {
            case .object, .bool: value
            case .null, .number, .string, .array: Optional.none
            }
        } write: {
            $0
        }
    }
}

extension FieldType where Value == [String: JSONValue] {
    /// Schema documents by Swift type name.
    static var schemas: Self {
        .map("The name of a Swift type", { $0.isEmpty ? nil : $0 }, name: { $0 }, of: .schema)
    }
}

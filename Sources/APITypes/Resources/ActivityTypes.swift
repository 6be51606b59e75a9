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
        let policy = reader.optional("policy", .policy)
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
        fields.add("policy", policy?.json)
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

extension SchemaFinding: APIAnswer, APIObject {
    package static let fields = FieldTable({ Self(part: $0, pointer: $1, code: $2, message: $3) }) {
        required("schema", .word(SchemaPart.self), \.part)
        required("pointer", .pointer, \.pointer)
        required("code", .string, \.code)
        required("message", .string, \.message)
        optional("severity", .word(Severity.self), \.severity)
        optional("schema_version", .int, \.schemaVersion)
    }
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

extension SchemaCompatibility: APIAnswer, APIObject {
    package static let fields = FieldTable({ Self(compatible: $0) }) {
        required("compatible", .bool, \.compatible)
        defaulted("findings", .list(of: .object(SchemaFinding.self)), \.findings)
    }
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

extension TypeRegistration: APIAnswer, APIObject {
    package static let fields = FieldTable({ Self(version: $0, changed: $1, lint: [], compatibility: $2) }) {
        required("version", .int, \.version)
        required("changed", .bool, \.changed)
        defaulted("lint", .list(of: .object(SchemaFinding.self)), \.lint)
        required("compatibility", .object(SchemaCompatibility.self), \.compatibility)
    }
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

extension TypeResource: APIAnswer, APIObject {
    package static let fields = FieldTable({
        Self(
            name: $0,
            version: $1,
            attributesSchema: $2,
            contentStateSchema: $3,
            policy: $4,
            createdAt: $5,
            updatedAt: $6
        )
    }) {
        required("name", .typeName, \.name)
        required("version", .int, \.version)
        required("attributes_schema", .schema, \.attributesSchema)
        required("content_state_schema", .schema, \.contentStateSchema)
        required("policy", .policy, \.policy)
        optional("min_app_version", .appVersion, \.minAppVersion)
        required("created_at", .time, \.createdAt)
        required("updated_at", .time, \.updatedAt)
    }
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

extension TypeVersionResource: APIAnswer, APIObject {
    package static let fields = FieldTable({
        Self(
            version: $0,
            attributesSchema: $1,
            contentStateSchema: $2,
            createdAt: $3
        )
    }) {
        required("version", .int, \.version)
        required("attributes_schema", .schema, \.attributesSchema)
        required("content_state_schema", .schema, \.contentStateSchema)
        optional("min_app_version", .appVersion, \.minAppVersion)
        required("created_at", .time, \.createdAt)
        optional("retired_at", .time, \.retiredAt)
    }
}

/// `PUT /v1/apps/{b}/types/{type}/versions/{version}`: an operator's decision about a version.
package struct TypeVersionRequest: Sendable, Hashable {
    /// Whether content may break phones that decode only this version or older ones. Content that they cannot decode is
    /// then withheld from them instead of being refused for all phones.
    package var retired: Bool

    package init(retired: Bool) { self.retired = retired }
}

extension TypeVersionRequest: APIRequest, APIObject {
    package static let fields = FieldTable(Self.init) {
        required("retired", .bool, \.retired)
    }
}

extension FieldType where Value == JSONValue {
    /// A schema document. The schema compiler checks later whether it is valid.
    static var schema: Self {
        of(
            "A JSON Schema (an object, true or false)",
            { value in
                switch value {
                case .object, .bool: value
                case .null, .number, .string, .array: Optional.none
                }
            },
            write: { $0 }
        )
    }
}

extension FieldType where Value == [String: JSONValue] {
    /// Schema documents by Swift type name.
    static var schemas: Self {
        .map("The name of a Swift type", { $0.isEmpty ? nil : $0 }, { $0 }, of: .schema)
    }
}

package import ActivityModel
package import JSON

/// `PATCH /v1/apps/{bundle_id}`: a JSON merge patch of an app's settings. Fields that it leaves out stay.
package struct AppPatch: Sendable, Hashable {
    package var teamID: TeamID?
    package var channelsExclusive: Bool?
    package var channelPool: Int?
    package var environments: [APNSEnvironment: SigningKeyPatch]

    package init(
        teamID: TeamID? = nil,
        channelsExclusive: Bool? = nil,
        channelPool: Int? = nil,
        environments: [APNSEnvironment: SigningKeyPatch] = [:]
    ) {
        self.teamID = teamID
        self.channelsExclusive = channelsExclusive
        self.channelPool = channelPool
        self.environments = environments
    }
}

/// A change of a signing key. Fields that it leaves out stay.
package struct SigningKeyPatch: Sendable, Hashable {
    package var keyID: KeyID?
    /// The PEM text of the `.p8` file.
    package var privateKey: String?

    package init(keyID: KeyID? = nil, privateKey: String? = nil) {
        self.keyID = keyID
        self.privateKey = privateKey
    }
}

extension AppPatch: APIRequest {
    private static let keys = FieldType<[APNSEnvironment: SigningKeyPatch]>.byEnvironment(.object(SigningKeyPatch.self))

    package init?(reader: inout ObjectReader) {
        let teamID = reader.optional("team_id", .teamID)
        let channelsExclusive = reader.optional("channels_exclusive", .bool)
        let channelPool = reader.optional("channel_pool", AppRequest.channelPools)
        let environments = reader.optional("environments", Self.keys)
        for key in ["team_id", "environments"] { reader.refuseNull(key) }
        for (name, value) in reader.object["environments"]?.object?.entries ?? [] where value.isNull {
            reader.refuse(name, in: "environments", code: FieldError.invalidValue, "'\(name)' cannot be removed.")
        }
        guard reader.finish() else { return nil }
        self.init(
            teamID: teamID,
            channelsExclusive: channelsExclusive ?? (reader.isNull("channels_exclusive") ? false : nil),
            channelPool: channelPool ?? (reader.isNull("channel_pool") ? 0 : nil),
            environments: environments ?? [:]
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("team_id", teamID?.rawValue)
        fields.add("channels_exclusive", channelsExclusive)
        fields.add("channel_pool", channelPool)
        if !environments.isEmpty { fields.add("environments", Self.keys.write(environments)) }
        return fields.json
    }
}

extension SigningKeyPatch: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .optional("key_id", \.keyID, .keyID),
        .optional("private_key", \.privateKey, .string),
        rule: { reader in
            for key in ["key_id", "private_key"] { reader.refuseNull(key) }
        },
        make: Self.init
    )
}

/// `PATCH /v1/apps/{b}/types/{type}`: a JSON merge patch of a type's policy.
package struct TypePatch: Sendable, Hashable {
    /// An object, or null for the defaults. Absent: nothing changes.
    package var policy: JSONValue?

    package init(policy: JSONValue? = nil) { self.policy = policy }

    /// The stored policy with the changes.
    ///
    /// - Throws: 422 for a field that is unknown or wrong.
    package func applied(to stored: Policy) throws(Problem) -> Policy {
        guard let policy else { return stored }
        let base = stored.json
        var context = FieldContext("policy", in: JSONPointer(), refusesUnknownFields: true)
        Self.refuseUnknownNulls(policy, base, context.pointer, &context)
        let result = FieldType<Policy>.object(Policy.self).read(base.merging(policy.isNull ? [:] : policy), &context)
        guard context.errors.isEmpty, let result else { throw .invalidRequest(context.errors) }
        return policy.isNull ? Policy() : result
    }

    /// A null removes its field, so a typing mistake in the name would be lost. The stored policy has every field.
    private static func refuseUnknownNulls(
        _ patch: JSONValue,
        _ base: JSONValue,
        _ place: JSONPointer,
        _ context: inout FieldContext
    ) {
        guard let base = base.object else { return }
        for (key, value) in patch.object?.entries ?? [] {
            let place = place.appending(key)
            guard let stored = base[key] else {
                guard value.isNull else { continue }
                let message = "'\(key)' is not known here."
                context.errors.append(FieldError(pointer: place, code: FieldError.unknownField, message: message))
                continue
            }
            refuseUnknownNulls(value, stored, place, &context)
        }
    }
}

extension TypePatch: APIRequest {
    package init?(reader: inout ObjectReader) {
        let policy = reader.optional("policy", .object)
        guard reader.finish() else { return nil }
        self.init(policy: policy.map { .object($0) } ?? (reader.isNull("policy") ? .null : nil))
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("policy", policy)
        return fields.json
    }
}

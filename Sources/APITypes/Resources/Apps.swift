package import ActivityModel
package import JSON

/// `PUT /v1/apps/{bundle_id}`: creates or changes an app and its signing keys.
package struct AppRequest: Sendable, Hashable {
    package var teamID: TeamID
    /// Whether no other system makes channels for this app, so that Tally may delete unknown ones. Nil keeps the stored
    /// value; a new app gets false.
    package var channelsExclusive: Bool?
    /// The number of channels kept ready per environment. With 0, Tally makes a channel when an activity needs one. Nil
    /// keeps the stored value; a new app gets 0.
    package var channelPool: Int?
    package var environments: [APNSEnvironment: SigningKeyRequest]

    package init(
        teamID: TeamID,
        channelsExclusive: Bool? = nil,
        channelPool: Int? = nil,
        environments: [APNSEnvironment: SigningKeyRequest]
    ) {
        self.teamID = teamID
        self.channelsExclusive = channelsExclusive
        self.channelPool = channelPool
        self.environments = environments
    }
}

/// A signing key of one environment.
package struct SigningKeyRequest: Sendable, Hashable {
    package var keyID: KeyID
    /// The PEM text of the `.p8` file; nil keeps the stored key.
    package var privateKey: String?

    package init(keyID: KeyID, privateKey: String? = nil) {
        self.keyID = keyID
        self.privateKey = privateKey
    }
}

extension AppRequest: APIRequest {
    package init?(reader: inout ObjectReader) {
        let teamID = reader.required("team_id", .teamID)
        let channelsExclusive = reader.optional("channels_exclusive", .bool)
        let channelPool = reader.optional("channel_pool", Self.channelPools)
        let environments = reader.required("environments", .byEnvironment(.object(SigningKeyRequest.self)))
        guard reader.finish(), let teamID, let environments else { return nil }
        self.init(
            teamID: teamID,
            channelsExclusive: channelsExclusive,
            channelPool: channelPool,
            environments: environments
        )
    }

    /// Up to Apple's quota per app and environment.
    static var channelPools: FieldType<Int> { .int.within(0...10_000) }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("team_id", teamID.rawValue)
        fields.add("channels_exclusive", channelsExclusive)
        fields.add("channel_pool", channelPool)
        fields.add("environments", .byEnvironment(environments))
        return fields.json
    }
}

extension SigningKeyRequest: APIRequest {
    package init?(reader: inout ObjectReader) {
        let keyID = reader.required("key_id", .keyID)
        let privateKey = reader.optional("private_key", .string)
        guard reader.finish(), let keyID else { return nil }
        self.init(keyID: keyID, privateKey: privateKey)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("key_id", keyID.rawValue)
        fields.add("private_key", privateKey)
        return fields.json
    }
}

/// An app as answers show it. Private keys are write-only.
package struct AppResource: Sendable, Hashable {
    package var bundleID: BundleID
    package var teamID: TeamID
    package var channelsExclusive: Bool
    package var channelPool: Int
    package var environments: [APNSEnvironment: SigningKeyResource]
    package var createdAt: Instant
    package var updatedAt: Instant

    package init(
        bundleID: BundleID,
        teamID: TeamID,
        channelsExclusive: Bool,
        channelPool: Int,
        environments: [APNSEnvironment: SigningKeyResource],
        createdAt: Instant,
        updatedAt: Instant
    ) {
        self.bundleID = bundleID
        self.teamID = teamID
        self.channelsExclusive = channelsExclusive
        self.channelPool = channelPool
        self.environments = environments
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}

/// A signing key, without its secret.
package struct SigningKeyResource: Sendable, Hashable {
    package var keyID: KeyID

    package init(keyID: KeyID) {
        self.keyID = keyID
    }
}

extension AppResource: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let bundleID = reader.required("bundle_id", .bundleID)
        let teamID = reader.required("team_id", .teamID)
        let channelsExclusive = reader.required("channels_exclusive", .bool)
        let channelPool = reader.required("channel_pool", .int)
        let environments = reader.required("environments", .byEnvironment(.object(SigningKeyResource.self)))
        let createdAt = reader.required("created_at", .time)
        let updatedAt = reader.required("updated_at", .time)
        guard reader.finish(), let bundleID, let teamID, let channelsExclusive, let channelPool, let environments,
            let createdAt, let updatedAt
        else { return nil }
        self.init(
            bundleID: bundleID,
            teamID: teamID,
            channelsExclusive: channelsExclusive,
            channelPool: channelPool,
            environments: environments,
            createdAt: createdAt,
            updatedAt: updatedAt
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("bundle_id", bundleID.rawValue)
        fields.add("team_id", teamID.rawValue)
        fields.add("channels_exclusive", channelsExclusive)
        fields.add("channel_pool", channelPool)
        fields.add("environments", .byEnvironment(environments))
        fields.add("created_at", createdAt)
        fields.add("updated_at", updatedAt)
        return fields.json
    }
}

extension SigningKeyResource: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let keyID = reader.required("key_id", .keyID)
        guard reader.finish(), let keyID else { return nil }
        self.init(keyID: keyID)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("key_id", keyID.rawValue)
        return fields.json
    }
}

extension FieldType {
    /// An object with one field per environment.
    static func byEnvironment<Element: Sendable>(_ element: FieldType<Element>) -> Self
    where Value == [APNSEnvironment: Element] {
        map("One of 'production', 'sandbox'", { APNSEnvironment(rawValue: $0) }, of: element)
    }
}

extension JSONValue {
    static func byEnvironment(_ values: [APNSEnvironment: some APIValue]) -> JSONValue {
        var fields = ObjectWriter()
        fields.add("production", values[.production])
        fields.add("sandbox", values[.sandbox])
        return fields.json
    }
}

package import ActivityModel
import JSON

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

extension AppRequest: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .required("team_id", \.teamID, .teamID),
        .optional("channels_exclusive", \.channelsExclusive, .bool),
        .optional("channel_pool", \.channelPool, Self.channelPools),
        .required("environments", \.environments, .byEnvironment(.object(SigningKeyRequest.self))),
        make: Self.init
    )

    /// Up to Apple's quota per app and environment.
    static var channelPools: FieldType<Int> { .int.within(0...10_000) }
}

extension SigningKeyRequest: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .required("key_id", \.keyID, .keyID),
        .optional("private_key", \.privateKey, .string),
        make: Self.init
    )
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

extension AppResource: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("bundle_id", \.bundleID, .bundleID),
        .required("team_id", \.teamID, .teamID),
        .required("channels_exclusive", \.channelsExclusive, .bool),
        .required("channel_pool", \.channelPool, .int),
        .required("environments", \.environments, .byEnvironment(.object(SigningKeyResource.self))),
        .required("created_at", \.createdAt, .time),
        .required("updated_at", \.updatedAt, .time),
        make: Self.init
    )
}

extension SigningKeyResource: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("key_id", \.keyID, .keyID),
        make: Self.init
    )
}

extension FieldType {
    /// An object with one field per environment.
    static func byEnvironment<Element: Sendable>(_ element: FieldType<Element>) -> Self
    where Value == [APNSEnvironment: Element] {
        map("One of 'production', 'sandbox'", { APNSEnvironment(rawValue: $0) }, name: { $0.rawValue }, of: element)
    }
}

package import ActivityModel
package import JSON

/// `PUT /v1/apps/{b}/devices/{device_id}`: an app's report of its installation.
///
/// An absent optional field keeps the stored value.
package struct DeviceRequest: Sendable, Hashable {
    package var environment: APNSEnvironment
    package var user: ReportedUser
    package var osVersion: OSVersion?
    package var appVersion: AppVersion?
    package var activitiesEnabled: Bool?
    package var frequentPushesEnabled: Bool?
    /// The token for ordinary pushes.
    package var deviceToken: PushToken?
    /// Push-to-start tokens by activity type, at most ``maximumStartTokens``.
    package var startTokens: [ActivityTypeName: StartTokenRequest]
    /// Identifies one installation of the app on the device. A new installation counts generations from the start.
    package var installation: String?
    /// The topics that the device follows. Nil: the stored ones stay.
    package var topics: [Topic]?
    /// What the ticket of the report allows: it replaces only topics that match. Nil: it replaces all. Not in JSON.
    package var allowedTopics: [TopicPattern]?

    /// A limit above the number of activity types in any app.
    package static let maximumStartTokens = 64

    package init(
        environment: APNSEnvironment,
        user: ReportedUser = .unsaid,
        osVersion: OSVersion? = nil,
        appVersion: AppVersion? = nil,
        activitiesEnabled: Bool? = nil,
        frequentPushesEnabled: Bool? = nil,
        deviceToken: PushToken? = nil,
        startTokens: [ActivityTypeName: StartTokenRequest] = [:],
        installation: String? = nil,
        topics: [Topic]? = nil
    ) {
        self.environment = environment
        self.user = user
        self.osVersion = osVersion
        self.appVersion = appVersion
        self.activitiesEnabled = activitiesEnabled
        self.frequentPushesEnabled = frequentPushesEnabled
        self.deviceToken = deviceToken
        self.startTokens = startTokens
        self.installation = installation
        self.topics = topics
    }
}

/// The user of a device, according to a report.
package enum ReportedUser: Sendable, Hashable {
    /// The report names no user, so the stored one stays.
    case unsaid
    /// Nobody is signed in; in JSON `"signed_out": true`.
    case nobody
    case user(UserID)

    /// A known user, or `unsaid` without one.
    package init(known id: UserID?) {
        self = id.map { .user($0) } ?? .unsaid
    }

    /// The user, if the report names one.
    package var id: UserID? {
        guard case .user(let id) = self else { return nil }
        return id
    }
}

/// A start token and the generation that orders its reports.
package struct StartTokenRequest: Sendable, Hashable {
    package var token: PushToken
    /// Grows with every token that the app gets. A report with a smaller generation is stale. Nil: arrival order
    /// decides.
    package var generation: Int64?

    package init(token: PushToken, generation: Int64? = nil) {
        self.token = token
        self.generation = generation
    }
}

extension DeviceRequest: APIRequest {
    private static let tokensByType = FieldType<[ActivityTypeName: StartTokenRequest]>
        .byType(.object(StartTokenRequest.self), atMost: maximumStartTokens)

    package init?(reader: inout ObjectReader) {
        let environment = reader.required("environment", .word(APNSEnvironment.self))
        let userID = reader.optional("user_id", .userID)
        let isSignedOut = reader.optional("signed_out", .mark) != nil
        if reader.has("user_id"), reader.has("signed_out") {
            let message = "'signed_out' says that there is no user; 'user_id' names one."
            reader.refuse("signed_out", code: FieldError.conflict, message: message)
        }
        let osVersion = reader.optional("os_version", .osVersion)
        let appVersion = reader.optional("app_version", .appVersion)
        let activitiesEnabled = reader.optional("activities_enabled", .bool)
        let frequentPushesEnabled = reader.optional("frequent_pushes_enabled", .bool)
        let deviceToken = reader.optional("device_token", .token)
        let startTokens = reader.optional("start_tokens", Self.tokensByType)
        let installation = reader.optional("installation", .installation)
        let topics = reader.optional("topics", .topics)
        guard reader.finish(), let environment else { return nil }
        self.init(
            environment: environment,
            user: isSignedOut ? .nobody : ReportedUser(known: userID),
            osVersion: osVersion,
            appVersion: appVersion,
            activitiesEnabled: activitiesEnabled,
            frequentPushesEnabled: frequentPushesEnabled,
            deviceToken: deviceToken,
            startTokens: startTokens ?? [:],
            installation: installation,
            topics: topics
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("environment", environment.rawValue)
        fields.add("user_id", user.id?.rawValue)
        if user == .nobody { fields.add("signed_out", true) }
        fields.add("os_version", osVersion?.description)
        fields.add("app_version", appVersion?.description)
        fields.add("activities_enabled", activitiesEnabled)
        fields.add("frequent_pushes_enabled", frequentPushesEnabled)
        fields.add("device_token", deviceToken?.hex)
        if !startTokens.isEmpty { fields.add("start_tokens", Self.tokensByType.write(startTokens)) }
        fields.add("installation", installation)
        fields.add("topics", words: topics?.map(\.rawValue))
        return fields.json
    }
}

extension StartTokenRequest: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .required("token", \.token, .token),
        .optional("generation", \.generation, .counter),
        make: Self.init
    )
}

/// A device as answers show it. Tokens are masked; their first digits distinguish them.
package struct DeviceResource: Sendable, Hashable {
    package var deviceID: DeviceID
    package var environment: APNSEnvironment
    package var userID: UserID?
    package var osVersion: OSVersion?
    package var appVersion: AppVersion?
    package var activitiesEnabled: Bool
    package var frequentPushesEnabled: Bool
    /// Masked: `PushToken.description`.
    package var deviceToken: String?
    /// Nil without a token. One that is dead is forgotten.
    package var deviceTokenState: TokenState?
    package var startTokens: [ActivityTypeName: StartTokenResource]
    package var createdAt: Instant
    package var updatedAt: Instant

    package init(
        deviceID: DeviceID,
        environment: APNSEnvironment,
        userID: UserID? = nil,
        osVersion: OSVersion? = nil,
        appVersion: AppVersion? = nil,
        activitiesEnabled: Bool,
        frequentPushesEnabled: Bool,
        deviceToken: String? = nil,
        deviceTokenState: TokenState? = nil,
        startTokens: [ActivityTypeName: StartTokenResource] = [:],
        createdAt: Instant,
        updatedAt: Instant
    ) {
        self.deviceID = deviceID
        self.environment = environment
        self.userID = userID
        self.osVersion = osVersion
        self.appVersion = appVersion
        self.activitiesEnabled = activitiesEnabled
        self.frequentPushesEnabled = frequentPushesEnabled
        self.deviceToken = deviceToken
        self.deviceTokenState = deviceTokenState
        self.startTokens = startTokens
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}

/// The state of a token.
package enum TokenState: String, Sendable, Hashable, CaseIterable {
    case live
    /// Apple reported it as gone.
    case dead
    /// Apple refused it. Tally keeps it, but sends nothing until it is reported again.
    case rejected
}

/// A start token as answers show it.
package struct StartTokenResource: Sendable, Hashable {
    /// Masked: `PushToken.description`.
    package var token: String
    package var generation: Int64
    package var state: TokenState
    package var registeredAt: Instant

    package init(token: String, generation: Int64, state: TokenState, registeredAt: Instant) {
        self.token = token
        self.generation = generation
        self.state = state
        self.registeredAt = registeredAt
    }
}

extension DeviceResource: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("device_id", \.deviceID, .deviceID),
        .required("environment", \.environment, .word(APNSEnvironment.self)),
        .optional("user_id", \.userID, .userID),
        .optional("os_version", \.osVersion, .osVersion),
        .optional("app_version", \.appVersion, .appVersion),
        .required("activities_enabled", \.activitiesEnabled, .bool),
        .required("frequent_pushes_enabled", \.frequentPushesEnabled, .bool),
        .optional("device_token", \.deviceToken, .string),
        .optional("device_token_state", \.deviceTokenState, .word(TokenState.self)),
        .optional("start_tokens", \.startTokens, .byType(.object(StartTokenResource.self)), else: [:]),
        .required("created_at", \.createdAt, .time),
        .required("updated_at", \.updatedAt, .time),
        make: Self.init
    )
}

extension StartTokenResource: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("token", \.token, .string),
        .required("generation", \.generation, .int64),
        .required("state", \.state, .word(TokenState.self)),
        .required("registered_at", \.registeredAt, .time),
        make: Self.init
    )
}

extension FieldType {
    /// An object with one field per activity type.
    fileprivate static func byType<Element: Sendable>(_ element: FieldType<Element>, atMost limit: Int = .max) -> Self
    where Value == [ActivityTypeName: Element] {
        map(typeNameForm, { ActivityTypeName($0) }, name: { $0.rawValue }, of: element, atMost: limit)
    }
}

internal import APITypes
internal import ActivityModel

/// The users, devices and followers of topics that an activity is started for. This is a standing rule until its end.
public struct ActivityAudience: Sendable, Hashable {
    /// The users whose devices show it.
    public var users: [String]
    /// The devices that show it.
    public var devices: [String]
    /// Whether every device with a start token for the type shows it.
    public var everyDevice: Bool
    /// The topics whose followers show it.
    public var topics: [String]
    /// Followers of ``topics`` must follow all of these as well.
    public var topicsAll: [String]
    /// Followers of ``topics`` who follow one of these do not show it.
    public var exceptTopics: [String]

    /// Includes only whom it names.
    public init(
        users: [String] = [],
        devices: [String] = [],
        everyDevice: Bool = false,
        topics: [String] = [],
        topicsAll: [String] = [],
        exceptTopics: [String] = []
    ) {
        self.users = users
        self.devices = devices
        self.everyDevice = everyDevice
        self.topics = topics
        self.topicsAll = topicsAll
        self.exceptTopics = exceptTopics
    }

    func audience() throws(TallyError) -> Audience {
        var audience = Audience(allOfType: everyDevice)
        for user in users { audience.users.append(try TallyBackend.userID(user)) }
        for device in devices { audience.devices.append(try TallyBackend.deviceID(device)) }
        for topic in topics { audience.topics.append(try TallyBackend.topic(topic)) }
        for topic in topicsAll { audience.topicsAll.append(try TallyBackend.topic(topic)) }
        for topic in exceptTopics { audience.exceptTopics.append(try TallyBackend.topic(topic)) }
        return audience
    }
}

/// The number of devices that an audience reaches now.
public struct AudienceSize: Sendable, Hashable {
    /// Registered devices that match.
    public let devices: Int
    /// Named users without a registered device.
    public let unknownUsers: Int
    /// Named devices that are not registered.
    public let unknownDevices: Int

    init(_ counts: AudienceCounts) {
        devices = counts.devices
        unknownUsers = counts.unknownUsers
        unknownDevices = counts.unknownDevices
    }
}

extension TallyBackend {
    /// Adds to and removes from an activity's audience. Split a long list over several calls.
    ///
    /// Added devices are started with the newest state. Removed devices get no more starts, but keep a card that they
    /// already have.
    ///
    /// - Parameters:
    ///   - id: The activity.
    ///   - adding: The users and devices to add.
    ///   - removing: The users and devices to remove.
    ///   - alert: The alert of starts from now on; nil: the alert of the start, or of an earlier addition.
    ///   - idempotencyKey: As for ``update(_:contentState:options:idempotencyKey:)``.
    /// - Returns: The number of devices that the audience reaches now.
    /// - Throws: ``TallyError`` with the code `not_found` or `activity_ended`; `alert_required` if you add somebody and
    ///   there is no alert.
    @discardableResult
    public func changeAudience(
        of id: String,
        adding: ActivityAudience = ActivityAudience(),
        removing: ActivityAudience = ActivityAudience(),
        alert: ChangeAlert? = nil,
        idempotencyKey: String? = nil
    ) async throws(TallyError) -> AudienceSize {
        let id = try Self.activityID(id)
        let request = AudienceRequest(
            add: try adding.audience(),
            remove: try removing.audience(),
            alert: alert?.content
        )
        return try await call { client throws(ClientError) in
            AudienceSize(try await client.changeAudience(app, id, request, idempotencyKey: idempotencyKey))
        }
    }
}

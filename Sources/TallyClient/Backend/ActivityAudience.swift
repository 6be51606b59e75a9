internal import APITypes
internal import ActivityModel

/// Whom an activity is started for; a standing rule until its end.
public struct ActivityAudience: Sendable, Hashable {
    /// The users whose devices show it.
    public var users: [String]
    /// The devices that show it.
    public var devices: [String]
    /// Whether every device with a start token for the type shows it.
    public var everyDevice: Bool

    /// Nobody but those who are named.
    public init(users: [String] = [], devices: [String] = [], everyDevice: Bool = false) {
        self.users = users
        self.devices = devices
        self.everyDevice = everyDevice
    }

    func audience() throws(TallyError) -> Audience {
        var audience = Audience(allOfType: everyDevice)
        for user in users { audience.users.append(try TallyBackend.userID(user)) }
        for device in devices { audience.devices.append(try TallyBackend.deviceID(device)) }
        return audience
    }
}

/// How many an audience reaches at this moment.
public struct AudienceSize: Sendable, Hashable {
    /// Devices that match and are registered.
    public let devices: Int
    /// Named users of whom no device is registered.
    public let unknownUsers: Int
}

extension TallyBackend {
    /// Adds to the audience of an activity, and takes from it; for long lists as often as there are parts of them.
    ///
    /// Who is added is started with the newest state. Who is taken out is not started any more, and keeps a card that
    /// is there already.
    ///
    /// - Parameters:
    ///   - id: The activity.
    ///   - adding: Whom it is started for as well.
    ///   - removing: Whom it is not started for any more.
    ///   - alert: What lights the screen where it is started from now on; nil: the alert of the start, or of an earlier
    ///     addition.
    ///   - idempotencyKey: That of ``update(_:contentState:options:idempotencyKey:)``.
    /// - Returns: How many it reaches now.
    /// - Throws: ``TallyError`` with the code `not_found`, `activity_ended`, or `alert_required` where somebody is
    ///   added and there is no alert.
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
            let counts = try await client.changeAudience(app, id, request, idempotencyKey: idempotencyKey)
            return AudienceSize(devices: counts.devices, unknownUsers: counts.unknownUsers)
        }
    }
}

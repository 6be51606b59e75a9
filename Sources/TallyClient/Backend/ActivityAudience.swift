internal import APITypes
internal import ActivityModel
internal import JSON

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
    /// How many entries of a list Tally had stored before, under the same idempotency key.
    public let skippedEntries: Int

    init(_ counts: AudienceCounts) {
        devices = counts.devices
        unknownUsers = counts.unknownUsers
        unknownDevices = counts.unknownDevices
        skippedEntries = counts.skippedLines ?? 0
    }
}

extension TallyBackend {
    /// Adds to and removes from an activity's audience. For a long list, see
    /// ``addToAudience(of:_:idempotencyKey:)``.
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

    /// Adds a list of any length to an activity's audience. Tally stores it page by page, while you send.
    ///
    /// The call connects before it asks for the first entry, and retries until its deadline to do so. Later it retries
    /// nothing, because it reads the list once. After an error that is worth another try, call it again with the same
    /// `idempotencyKey` and the whole list. Tally skips the entries that it has.
    ///
    /// Starts carry the alert that the activity has. To set one first, call
    /// ``changeAudience(of:adding:removing:alert:idempotencyKey:)`` with nothing but the alert.
    ///
    /// - Parameters:
    ///   - id: The activity.
    ///   - entries: The users and devices to add.
    ///   - idempotencyKey: A text of yours that stands for this list. Without one, a repeat sends everything again.
    /// - Returns: The number of devices that the audience reaches now.
    /// - Throws: ``TallyError``, as for ``changeAudience(of:adding:removing:alert:idempotencyKey:)``; what `entries`
    ///   throws.
    @discardableResult
    public func addToAudience<Entries: AsyncSequence & Sendable>(
        of id: String,
        _ entries: Entries,
        idempotencyKey: String? = nil
    ) async throws -> AudienceSize where Entries.Element == AudienceEntry {
        let id = try Self.activityID(id)
        let lines = entries.map { entry in try entry.line() }
        do {
            return AudienceSize(try await client.addToAudience(app, id, lines: lines, idempotencyKey: idempotencyKey))
        } catch let error as ClientError {
            throw TallyError(error)
        }
    }
}

/// One user or device that is added to an audience.
public enum AudienceEntry: Sendable, Hashable {
    /// A user, on all devices.
    case user(String)
    /// A single device.
    case device(String)

    fileprivate func line() throws(TallyError) -> [UInt8] {
        switch self {
        case .user(let id): try UserOrDevice.user(TallyBackend.userID(id)).json.serialized()
        case .device(let id): try UserOrDevice.device(TallyBackend.deviceID(id)).json.serialized()
        }
    }
}

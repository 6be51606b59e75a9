package import ActivityModel
import JSON

/// `POST /v1/apps/{b}/channels`: creates a channel for the pool.
package struct ChannelRequest: Sendable, Hashable {
    /// Nil: `production` if the app has it, otherwise its only environment.
    package var environment: APNSEnvironment?
    package var storage: ChannelStorage

    package init(environment: APNSEnvironment? = nil, storage: ChannelStorage = .mostRecent) {
        self.environment = environment
        self.storage = storage
    }
}

extension ChannelRequest: APIRequest, FieldwiseValue {
    package static let fields = Fields(
        .optional("environment", \.environment, .word(APNSEnvironment.self)),
        .optional("storage", \.storage, .word(ChannelStorage.self), else: .mostRecent),
        make: Self.init
    )
}

/// A channel's life at Apple.
package enum ChannelState: String, Sendable, Hashable, CaseIterable {
    /// Requested from Apple; its id is not known yet.
    case creating
    case ready
    case deleting
    case deleted
    /// Gone at Apple although nobody deleted it. Tally can no longer reach its listeners.
    case lost
}

/// The channel of an activity.
package struct ChannelReference: Sendable, Hashable {
    package var id: ChannelID
    /// Nil while the channel is being created.
    package var apnsChannelID: APNSChannelID?
    package var state: ChannelState
    /// The cards on the channel that Tally knows. Nil in the answer to a start.
    package var followers: Int?

    package init(id: ChannelID, apnsChannelID: APNSChannelID?, state: ChannelState, followers: Int? = nil) {
        self.id = id
        self.apnsChannelID = apnsChannelID
        self.state = state
        self.followers = followers
    }
}

extension ChannelReference: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("id", \.id, .channelID),
        .nullable("apns_channel_id", \.apnsChannelID, .apnsChannelID),
        .required("state", \.state, .word(ChannelState.self)),
        .optional("followers", \.followers, .int),
        make: Self.init
    )
}

/// A channel as answers show it.
package struct ChannelResource: Sendable, Hashable {
    package var id: ChannelID
    package var apnsChannelID: APNSChannelID?
    package var environment: APNSEnvironment
    package var storage: ChannelStorage
    package var state: ChannelState
    /// The activity that uses the channel. A channel serves one activity in its whole life; nil while it is in the
    /// pool.
    package var activityID: ActivityID?
    /// The cards on the channel that Tally knows: started by Tally, or reported by their app.
    package var followers: Int
    package var createdAt: Instant
    /// When it will be deleted.
    package var deleteAt: Instant?
    package var deletedAt: Instant?
    /// When Tally found it gone at Apple although nobody had deleted it.
    package var lostAt: Instant?
    /// The reason of Apple's last refusal, or why the channel counts as lost.
    package var reason: String?

    package init(
        id: ChannelID,
        apnsChannelID: APNSChannelID?,
        environment: APNSEnvironment,
        storage: ChannelStorage,
        state: ChannelState,
        activityID: ActivityID? = nil,
        followers: Int = 0,
        createdAt: Instant,
        deleteAt: Instant? = nil,
        deletedAt: Instant? = nil,
        lostAt: Instant? = nil,
        reason: String? = nil
    ) {
        self.id = id
        self.apnsChannelID = apnsChannelID
        self.environment = environment
        self.storage = storage
        self.state = state
        self.activityID = activityID
        self.followers = followers
        self.createdAt = createdAt
        self.deleteAt = deleteAt
        self.deletedAt = deletedAt
        self.lostAt = lostAt
        self.reason = reason
    }
}

extension ChannelResource: APIAnswer, FieldwiseValue {
    package static let fields = Fields(
        .required("id", \.id, .channelID),
        .nullable("apns_channel_id", \.apnsChannelID, .apnsChannelID),
        .required("environment", \.environment, .word(APNSEnvironment.self)),
        .required("storage", \.storage, .word(ChannelStorage.self)),
        .required("state", \.state, .word(ChannelState.self)),
        .optional("activity_id", \.activityID, .activityID),
        // Absent from answers that earlier daemons kept for an idempotency key.
        .optional("followers", \.followers, .int, else: 0),
        .required("created_at", \.createdAt, .time),
        .optional("delete_at", \.deleteAt, .time),
        .optional("deleted_at", \.deletedAt, .time),
        .optional("lost_at", \.lostAt, .time),
        .optional("reason", \.reason, .string),
        make: Self.init
    )
}

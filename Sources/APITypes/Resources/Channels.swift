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

extension ChannelRequest: APIRequest, APIObject {
    package static let fields = FieldTable({ Self() }) {
        optional("environment", .word(APNSEnvironment.self), \.environment)
        defaulted("storage", .word(ChannelStorage.self), \.storage)
    }
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

    package init(id: ChannelID, apnsChannelID: APNSChannelID?, state: ChannelState) {
        self.id = id
        self.apnsChannelID = apnsChannelID
        self.state = state
    }
}

extension ChannelReference: APIAnswer, APIObject {
    package static let fields = FieldTable({ Self(id: $0, apnsChannelID: nil, state: $1) }) {
        required("id", .channelID, \.id)
        nullable("apns_channel_id", .apnsChannelID, \.apnsChannelID)
        required("state", .word(ChannelState.self), \.state)
    }
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
        self.createdAt = createdAt
        self.deleteAt = deleteAt
        self.deletedAt = deletedAt
        self.lostAt = lostAt
        self.reason = reason
    }
}

extension ChannelResource: APIAnswer, APIObject {
    package static let fields = FieldTable({
        Self(
            id: $0,
            apnsChannelID: nil,
            environment: $1,
            storage: $2,
            state: $3,
            createdAt: $4
        )
    }) {
        required("id", .channelID, \.id)
        nullable("apns_channel_id", .apnsChannelID, \.apnsChannelID)
        required("environment", .word(APNSEnvironment.self), \.environment)
        required("storage", .word(ChannelStorage.self), \.storage)
        required("state", .word(ChannelState.self), \.state)
        optional("activity_id", .activityID, \.activityID)
        required("created_at", .time, \.createdAt)
        optional("delete_at", .time, \.deleteAt)
        optional("deleted_at", .time, \.deletedAt)
        optional("lost_at", .time, \.lostAt)
        optional("reason", .string, \.reason)
    }
}

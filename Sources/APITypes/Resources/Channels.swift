package import ActivityModel
package import JSON

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

extension ChannelRequest: APIRequest {
    package init?(reader: inout ObjectReader) {
        let environment = reader.optional("environment", .word(APNSEnvironment.self))
        let storage = reader.optional("storage", .word(ChannelStorage.self))
        guard reader.finish() else { return nil }
        self.init(environment: environment, storage: storage ?? .mostRecent)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("environment", environment?.rawValue)
        fields.add("storage", storage.rawValue)
        return fields.json
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
    /// The cards on the channel that Tally knows. Nil in the answer to a start.
    package var followers: Int?

    package init(id: ChannelID, apnsChannelID: APNSChannelID?, state: ChannelState, followers: Int? = nil) {
        self.id = id
        self.apnsChannelID = apnsChannelID
        self.state = state
        self.followers = followers
    }
}

extension ChannelReference: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let id = reader.required("id", .channelID)
        let apnsChannelID = reader.optional("apns_channel_id", .apnsChannelID)
        let state = reader.required("state", .word(ChannelState.self))
        let followers = reader.optional("followers", .int)
        guard reader.finish(), let id, let state else { return nil }
        self.init(id: id, apnsChannelID: apnsChannelID, state: state, followers: followers)
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("id", id.rawValue)
        fields.add("apns_channel_id", apnsChannelID.map { JSONValue.string($0.rawValue) } ?? .null)
        fields.add("state", state.rawValue)
        fields.add("followers", followers)
        return fields.json
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

extension ChannelResource: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let id = reader.required("id", .channelID)
        let apnsChannelID = reader.optional("apns_channel_id", .apnsChannelID)
        let environment = reader.required("environment", .word(APNSEnvironment.self))
        let storage = reader.required("storage", .word(ChannelStorage.self))
        let state = reader.required("state", .word(ChannelState.self))
        let activityID = reader.optional("activity_id", .activityID)
        // Absent from answers that earlier daemons kept for an idempotency key.
        let followers = reader.optional("followers", .int)
        let createdAt = reader.required("created_at", .time)
        let deleteAt = reader.optional("delete_at", .time)
        let deletedAt = reader.optional("deleted_at", .time)
        let lostAt = reader.optional("lost_at", .time)
        let reason = reader.optional("reason", .string)
        guard reader.finish(), let id, let environment, let storage, let state, let createdAt else { return nil }
        self.init(
            id: id,
            apnsChannelID: apnsChannelID,
            environment: environment,
            storage: storage,
            state: state,
            activityID: activityID,
            followers: followers ?? 0,
            createdAt: createdAt,
            deleteAt: deleteAt,
            deletedAt: deletedAt,
            lostAt: lostAt,
            reason: reason
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("id", id.rawValue)
        fields.add("apns_channel_id", apnsChannelID.map { JSONValue.string($0.rawValue) } ?? .null)
        fields.add("environment", environment.rawValue)
        fields.add("storage", storage.rawValue)
        fields.add("state", state.rawValue)
        fields.add("activity_id", activityID?.rawValue)
        fields.add("followers", followers)
        fields.add("created_at", createdAt)
        fields.add("delete_at", deleteAt)
        fields.add("deleted_at", deletedAt)
        fields.add("lost_at", lostAt)
        fields.add("reason", reason)
        return fields.json
    }
}

package import ActivityModel
package import JSON

/// One activity as answers show it.
package struct ActivityResource: Sendable, Hashable {
    package var activityID: ActivityID
    package var type: ActivityTypeName
    package var environment: APNSEnvironment
    package var state: ActivityState
    /// The newest accepted revision. Phones may still show an older one.
    package var revision: Revision
    /// The timestamp of the newest change; nil until it is stamped.
    package var timestamp: Timestamp?
    package var delivery: Delivery
    /// The newest accepted content state. Phones may still show an older one.
    package var contentState: JSONObject
    package var attributes: JSONObject
    package var createdAt: Instant
    package var startedAt: Instant?
    package var endedAt: Instant?
    package var startsAt: Instant?
    package var endsAt: Instant?
    package var channel: ChannelReference?
    package var progress: DeliveryProgress
    package var starts: StartProgress
    package var schedules: [ScheduleResource]

    package init(
        activityID: ActivityID,
        type: ActivityTypeName,
        environment: APNSEnvironment,
        state: ActivityState,
        revision: Revision,
        timestamp: Timestamp?,
        delivery: Delivery,
        contentState: JSONObject,
        attributes: JSONObject,
        createdAt: Instant,
        startedAt: Instant? = nil,
        endedAt: Instant? = nil,
        startsAt: Instant? = nil,
        endsAt: Instant? = nil,
        channel: ChannelReference? = nil,
        progress: DeliveryProgress,
        starts: StartProgress,
        schedules: [ScheduleResource] = []
    ) {
        self.activityID = activityID
        self.type = type
        self.environment = environment
        self.state = state
        self.revision = revision
        self.timestamp = timestamp
        self.delivery = delivery
        self.contentState = contentState
        self.attributes = attributes
        self.createdAt = createdAt
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.startsAt = startsAt
        self.endsAt = endsAt
        self.channel = channel
        self.progress = progress
        self.starts = starts
        self.schedules = schedules
    }
}

/// The delivery progress of the newest change, as counts of destinations.
package struct DeliveryProgress: Sendable, Hashable {
    /// All destinations that follow the activity: one per update token, and one for a channel.
    package var destinations: Int
    /// Destinations that were sent the newest revision, or the end.
    package var current: Int
    /// Destinations that still need a push.
    package var pending: Int
    /// Started phones that have not reported an update token.
    package var waitingForToken: Int
    /// Destinations whose token no longer exists, according to Apple.
    package var dead: Int
    /// Destinations that get no pushes: their app version cannot decode the state, or Apple refused the token.
    package var withheld: Int

    package init(
        destinations: Int = 0,
        current: Int = 0,
        pending: Int = 0,
        waitingForToken: Int = 0,
        dead: Int = 0,
        withheld: Int = 0
    ) {
        self.destinations = destinations
        self.current = current
        self.pending = pending
        self.waitingForToken = waitingForToken
        self.dead = dead
        self.withheld = withheld
    }
}

/// The progress of the starts, as counts of devices.
package struct StartProgress: Sendable, Hashable {
    /// Whether Tally still makes starts for the audience. The other counts grow until then.
    package var enrolling: Bool
    /// Not sent yet, including claimed starts.
    package var pending: Int
    /// Accepted by Apple, but not yet reported by the phone.
    package var sent: Int
    /// Sent without an answer: the start may have arrived.
    package var unanswered: Int
    /// Reported by the phone.
    package var confirmed: Int
    /// Starts that were sent a second time. They are also counted in one of the other fields.
    package var repeated: Int
    /// Cannot be sent, either for now or until the device registers again.
    package var withheld: Int
    /// Refused by Apple.
    package var failed: Int
    /// Why starts are withheld or failed: the number of starts for each reason, a word of Tally's or Apple's.
    package var reasons: [String: Int]

    package init(
        enrolling: Bool = false,
        pending: Int = 0,
        sent: Int = 0,
        unanswered: Int = 0,
        confirmed: Int = 0,
        repeated: Int = 0,
        withheld: Int = 0,
        failed: Int = 0,
        reasons: [String: Int] = [:]
    ) {
        self.enrolling = enrolling
        self.pending = pending
        self.sent = sent
        self.unanswered = unanswered
        self.confirmed = confirmed
        self.repeated = repeated
        self.withheld = withheld
        self.failed = failed
        self.reasons = reasons
    }
}

extension ActivityResource: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let activityID = reader.required("activity_id", .activityID)
        let type = reader.required("type", .typeName)
        let environment = reader.required("environment", .word(APNSEnvironment.self))
        let state = reader.required("state", .word(ActivityState.self))
        let revision = reader.required("revision", .int64)
        let timestamp = reader.optional("timestamp", .int64)
        let delivery = reader.required("delivery", .word(Delivery.self))
        let contentState = reader.required("content_state", .object)
        let attributes = reader.required("attributes", .object)
        let createdAt = reader.required("created_at", .time)
        let startedAt = reader.optional("started_at", .time)
        let endedAt = reader.optional("ended_at", .time)
        let startsAt = reader.optional("starts_at", .time)
        let endsAt = reader.optional("ends_at", .time)
        let channel = reader.optional("channel", .object(ChannelReference.self))
        let progress = reader.required("progress", .object(DeliveryProgress.self))
        let starts = reader.required("starts", .object(StartProgress.self))
        let schedules = reader.optional("schedules", .list(of: .object(ScheduleResource.self)))
        guard reader.finish(), let activityID, let type, let environment, let state, let revision, let delivery,
            let contentState, let attributes, let createdAt, let progress, let starts
        else { return nil }
        self.init(
            activityID: activityID,
            type: type,
            environment: environment,
            state: state,
            revision: revision,
            timestamp: timestamp,
            delivery: delivery,
            contentState: contentState,
            attributes: attributes,
            createdAt: createdAt,
            startedAt: startedAt,
            endedAt: endedAt,
            startsAt: startsAt,
            endsAt: endsAt,
            channel: channel,
            progress: progress,
            starts: starts,
            schedules: schedules ?? []
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("activity_id", activityID.rawValue)
        fields.add("type", type.rawValue)
        fields.add("environment", environment.rawValue)
        fields.add("state", state.rawValue)
        fields.add("revision", revision)
        fields.add("timestamp", .orNull(timestamp))
        fields.add("delivery", delivery.rawValue)
        fields.add("content_state", contentState)
        fields.add("attributes", attributes)
        fields.add("created_at", createdAt)
        fields.add("started_at", startedAt)
        fields.add("ended_at", endedAt)
        fields.add("starts_at", startsAt)
        fields.add("ends_at", endsAt)
        fields.add("channel", channel)
        fields.add("progress", progress)
        fields.add("starts", starts)
        fields.add("schedules", schedules)
        return fields.json
    }
}

extension DeliveryProgress: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let destinations = reader.required("destinations", .int)
        let current = reader.required("current", .int)
        let pending = reader.required("pending", .int)
        let waitingForToken = reader.required("waiting_for_token", .int)
        let dead = reader.required("dead", .int)
        let withheld = reader.required("withheld", .int)
        guard reader.finish(), let destinations, let current, let pending, let waitingForToken, let dead, let withheld
        else { return nil }
        self.init(
            destinations: destinations,
            current: current,
            pending: pending,
            waitingForToken: waitingForToken,
            dead: dead,
            withheld: withheld
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("destinations", destinations)
        fields.add("current", current)
        fields.add("pending", pending)
        fields.add("waiting_for_token", waitingForToken)
        fields.add("dead", dead)
        fields.add("withheld", withheld)
        return fields.json
    }
}

extension StartProgress: APIAnswer {
    package init?(reader: inout ObjectReader) {
        let enrolling = reader.required("enrolling", .bool)
        let pending = reader.required("pending", .int)
        let sent = reader.required("sent", .int)
        let unanswered = reader.required("unanswered", .int)
        let confirmed = reader.required("confirmed", .int)
        let repeated = reader.required("repeated", .int)
        let withheld = reader.required("withheld", .int)
        let failed = reader.required("failed", .int)
        let reasons = reader.optional("reasons", .counts)
        guard reader.finish(), let enrolling, let pending, let sent, let unanswered, let confirmed, let repeated,
            let withheld, let failed
        else { return nil }
        self.init(
            enrolling: enrolling,
            pending: pending,
            sent: sent,
            unanswered: unanswered,
            confirmed: confirmed,
            repeated: repeated,
            withheld: withheld,
            failed: failed,
            reasons: reasons ?? [:]
        )
    }

    package var json: JSONValue {
        var fields = ObjectWriter()
        fields.add("enrolling", enrolling)
        fields.add("pending", pending)
        fields.add("sent", sent)
        fields.add("unanswered", unanswered)
        fields.add("confirmed", confirmed)
        fields.add("repeated", repeated)
        fields.add("withheld", withheld)
        fields.add("failed", failed)
        if !reasons.isEmpty { fields.add("reasons", .counts(reasons)) }
        return fields.json
    }
}
